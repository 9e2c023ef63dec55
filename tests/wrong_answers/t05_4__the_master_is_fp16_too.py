# message: that copy is in FP16 too
def steps_to_move(w, update):
    first = 1 if to16(w + update) != w else inf
    return first, first
