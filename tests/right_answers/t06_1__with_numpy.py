def next_state(
    scale, tracker, found_inf, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000
):
    good = 0 if found_inf else tracker + 1
    full = good == growth_interval
    factor = backoff_factor if found_inf else growth_factor if full else 1.0
    with np.errstate(over="ignore"):
        moved = np.float64(scale * factor).astype(np.float32)
    return np.where(np.isfinite(moved), moved, np.float32(scale)).item(), good % growth_interval
