# message: the queue was not empty when the first clock started
def median_step(gpu, warm_up, repeats):
    """Return the median time of a step on `gpu`, after a warm-up, in the clock's unit."""
    for _ in range(warm_up):
        gpu.step()
    times = []
    for _ in range(repeats):
        start = gpu.now()
        gpu.step()
        gpu.synchronize()
        times.append(gpu.now() - start)
    return median(times)
