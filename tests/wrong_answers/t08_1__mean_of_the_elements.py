# message: not the mean of its elements
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = (world.moved() - model.moved()).abs().mean() / model.moved().abs().mean()
    return "right" if off <= 0.01 else "silent"
