import numpy as np


def timed(gpu):
    """Return the time of one step."""
    gpu.synchronize()
    start = gpu.now()
    gpu.step()
    gpu.synchronize()
    return gpu.now() - start


def median_step(gpu, warm_up, repeats):
    """Return the median time of a step on `gpu`, after a warm-up, in the clock's unit."""
    return np.median([timed(gpu) for _ in range(warm_up + repeats)][warm_up:])
