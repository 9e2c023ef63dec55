# message: one run is no measurement
def median_step(gpu, warm_up, repeats):
    """Return the median time of a step on `gpu`, after a warm-up, in the clock's unit."""
    for _ in range(warm_up):
        gpu.step()
    gpu.synchronize()
    start = gpu.now()
    gpu.step()
    gpu.synchronize()
    return gpu.now() - start
