# message: below a power of two the gap is half as wide
def steps_to_move(w, update):
    half = float(np.spacing(np.float16(abs(w)))) / 2
    odd = (w / half / 2) % 2 == 1
    steps = math.ceil(half / abs(update)) if odd else math.floor(half / abs(update)) + 1
    return (1 if steps == 1 else inf), steps
