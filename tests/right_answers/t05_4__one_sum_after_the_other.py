def steps_to_move(w, update):
    master, steps = float(w), 0
    while to16(master) == to16(w):
        master += update
        steps += 1
    return (inf if to16(to16(w) + update) == w else 1.0), float(steps)
