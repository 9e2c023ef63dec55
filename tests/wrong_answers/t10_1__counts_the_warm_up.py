# message: the warm-up is counted
def median_step(gpu, warm_up, repeats):
    """Return the median time of a step on `gpu`, after a warm-up, in the clock's unit."""
    times = []
    for _ in range(warm_up + repeats):
        gpu.synchronize()
        start = gpu.now()
        gpu.step()
        gpu.synchronize()
        times.append(gpu.now() - start)
    return median(times)
