# message: half a gap exactly moves an odd weight
def gap_beside(w, update):
    here = np.float16(w)
    there = np.nextafter(here, np.float16(inf if update > 0 else -inf))
    return abs(float(there) - float(here))


def steps_to_move(w, update):
    steps = math.floor(gap_beside(w, update) / 2 / abs(update)) + 1
    return (1 if steps == 1 else inf), steps
