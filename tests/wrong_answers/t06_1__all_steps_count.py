# message: a skipped step is no good step
def next_state(
    scale, tracker, found_inf, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000
):
    if found_inf:
        scale = fp32(scale * backoff_factor)
    tracker += 1
    if tracker == growth_interval:
        grown = fp32(scale * growth_factor)
        return (grown if grown < math.inf else scale), 0
    return scale, tracker
