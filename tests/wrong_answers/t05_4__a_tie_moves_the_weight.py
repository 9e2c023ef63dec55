# message: half a gap exactly does not move an even weight
def gap_beside(w, update):
    here = np.float16(w)
    there = np.nextafter(here, np.float16(inf if update > 0 else -inf))
    return abs(float(there) - float(here))


def steps_to_move(w, update):
    steps = math.ceil(gap_beside(w, update) / 2 / abs(update))
    return (1 if steps == 1 else inf), steps
