# message: weights can be finite, and wrong
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world = World()
    try:
        loop(world)
    except Exception:
        return "raises"
    return "right" if world.weights().isfinite().all() else "silent"
