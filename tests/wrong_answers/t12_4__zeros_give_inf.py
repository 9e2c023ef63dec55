# message: a scale of inf is no scale
def replay(amaxes, length, largest=448.0, margin=0):
    """Return the scale of every step, and the clipped steps."""
    history, scales, clipped = [], [], []
    for step, amax in enumerate(amaxes):
        made_for = max(history[-length:], default=largest / 2**margin)
        scales.append(largest / made_for / 2**margin if made_for else math.inf)
        if amax > made_for * 2**margin:
            clipped.append(step)
        if amax < math.inf:
            history.append(amax)
    return scales, clipped
