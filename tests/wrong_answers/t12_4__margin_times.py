# message: margin counts binades
def replay(amaxes, length, largest=448.0, margin=0):
    """Return the scale of every step, and the clipped steps."""
    history, scales, clipped = [], [], []
    for step, amax in enumerate(amaxes):
        made_for = max(history[-length:], default=0.0) or largest / (margin or 1)
        scales.append(largest / made_for / (margin or 1))
        if amax > made_for * (margin or 1):
            clipped.append(step)
        if amax < math.inf:
            history.append(amax)
    return scales, clipped
