# message: both arms rounded the update to FP16
def steps_to_move(w, update):
    half, steps = float(np.float16(update)), 1
    while to16(w + steps * half) == w:
        steps += 1
        if steps > 5000:
            return inf, inf
    return (1 if steps == 1 else inf), steps
