# message: an infinite step takes no place
def replay(amaxes, length, largest=448.0, margin=0):
    """Return the scale of every step, and the clipped steps."""
    history, scales, clipped = [], [], []
    for step, amax in enumerate(amaxes):
        made_for = max([a for a in history[-length:] if a < math.inf], default=0.0) or largest / 2**margin
        scales.append(largest / made_for / 2**margin)
        if amax > made_for * 2**margin:
            clipped.append(step)
        history.append(amax)
    return scales, clipped
