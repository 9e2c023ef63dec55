# message: moves can be equally long
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = abs(world.moved().norm() / model.moved().norm() - 1)
    return "right" if off <= 0.01 else "silent"
