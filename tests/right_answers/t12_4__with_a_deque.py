from collections import deque


def replay(amaxes, length, largest=448.0, margin=0):
    window, scales, clipped = deque(maxlen=length), [], []
    room = 2.0**margin
    for step, amax in enumerate(amaxes):
        top = max(window) if window else 0
        if top > 0:
            scales.append(largest / (top * room))
            limit = top * room
        else:
            scales.append(1.0)
            limit = largest
        if not amax <= limit:
            clipped.append(step)
        if math.isfinite(amax):
            window.append(amax)
    return scales, clipped
