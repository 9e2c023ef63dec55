# message: a batch need not be a power of two
def peak(parameters, forward, step, each, batch):
    return max(forward * parameters + each * batch, step * parameters)


def largest_batch(parameters, forward, step, each, limit):
    if step * parameters > limit:
        return 0
    return 2 ** (max(0, (limit - forward * parameters) // each).bit_length() - 1) if limit > forward * parameters + each else 0
