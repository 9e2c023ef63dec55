# message: the margin has no part in it
def replay(amaxes, length, largest=448.0, margin=0):
    """Return the scale of every step, and the clipped steps."""
    history, scales, clipped = [], [], []
    for step, amax in enumerate(amaxes):
        made_for = max(history[-length:], default=0.0) or largest / 2**margin
        scales.append(largest / made_for / 2**margin)
        if amax > (made_for * 2**margin if any(history[-length:]) else largest / 2**margin):
            clipped.append(step)
        if amax < math.inf:
            history.append(amax)
    return scales, clipped
