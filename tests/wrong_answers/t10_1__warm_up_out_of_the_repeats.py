# message: repeats counts what is measured
def median_step(gpu, warm_up, repeats):
    """Return the median time of a step on `gpu`, after a warm-up, in the clock's unit."""
    times = []
    for i in range(repeats):
        gpu.synchronize()
        start = gpu.now()
        gpu.step()
        gpu.synchronize()
        if i >= warm_up:
            times.append(gpu.now() - start)
    return median(times or [0])
