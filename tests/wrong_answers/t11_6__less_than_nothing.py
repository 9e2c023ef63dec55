# message: where not even one sample fits, the largest batch is 0
def peak(parameters, forward, step, each, batch):
    return max(forward * parameters + each * batch, step * parameters)


def largest_batch(parameters, forward, step, each, limit):
    if step * parameters > limit:
        return 0
    return (limit - forward * parameters) // each
