def median_step(gpu, warm_up, repeats):
    """Return the median time of a step on `gpu`, after a warm-up, in the clock's unit."""
    for _ in range(warm_up):
        gpu.step()
    gpu.synchronize()
    readings = [gpu.now()]
    for _ in range(repeats):
        gpu.step()
        gpu.synchronize()
        readings.append(gpu.now())
    times = sorted(b - a for a, b in zip(readings, readings[1:], strict=False))
    return (times[(repeats - 1) // 2] + times[repeats // 2]) / 2
