# message: with few activations the optimizer's step is the peak
def peak(parameters, forward, step, each, batch):
    return forward * parameters + each * batch


def largest_batch(parameters, forward, step, each, limit):
    if step * parameters > limit:
        return 0
    return max(0, (limit - forward * parameters) // each)
