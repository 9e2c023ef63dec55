def steps_to_move(w, update):
    here = np.float16(w)
    there = np.nextafter(here, np.float16(inf if update > 0 else -inf))
    half = abs(float(there) - float(here)) / 2
    steps = math.floor(half / abs(update))
    if steps * abs(update) < half or int(here.view(np.uint16)) % 2 == 0:
        steps += 1
    return (1 if steps == 1 else inf), steps
