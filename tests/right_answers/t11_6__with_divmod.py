def peak(parameters, forward, step, each, batch):
    return sorted([step * parameters, forward * parameters + batch * each])[-1]


def largest_batch(parameters, forward, step, each, limit):
    room = limit - forward * parameters
    fits = step * parameters <= limit and room >= 0
    return divmod(room, each)[0] if fits else 0
