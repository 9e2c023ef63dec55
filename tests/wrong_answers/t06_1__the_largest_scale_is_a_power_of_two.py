# message: not a power of two: 1.125 times
def next_state(
    scale, tracker, found_inf, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000
):
    """Return (scale, tracker) after a step, given whether a gradient was inf or NaN."""
    if found_inf:
        return fp32(scale * backoff_factor), 0
    if tracker + 1 < growth_interval:
        return scale, tracker + 1
    grown = fp32(scale * growth_factor)
    return (grown if grown <= 2.0**127 else scale), 0
