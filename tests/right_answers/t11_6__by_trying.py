def peak(parameters, forward, step, each, batch):
    end_of_forward = forward * parameters + each * batch
    optimizer = step * parameters
    return optimizer if optimizer > end_of_forward else end_of_forward


def largest_batch(parameters, forward, step, each, limit):
    low, high = 0, limit // each + 1
    while high - low > 1:
        middle = (low + high) // 2
        if peak(parameters, forward, step, each, middle) <= limit:
            low = middle
        else:
            high = middle
    return low
