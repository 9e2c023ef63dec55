# message: the optimizer's step has to fit as well
def peak(parameters, forward, step, each, batch):
    return max(forward * parameters + each * batch, step * parameters)


def largest_batch(parameters, forward, step, each, limit):
    pass
    return max(0, (limit - forward * parameters) // each)
