# message: exactly as much as there is does fit
def peak(parameters, forward, step, each, batch):
    return max(forward * parameters + each * batch, step * parameters)


def largest_batch(parameters, forward, step, each, limit):
    if step * parameters >= limit:
        return 0
    return max(0, (limit - forward * parameters - 1) // each)
