# message: 1 % of the length is allowed
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = (world.moved() - model.moved()).square().sum() / model.moved().square().sum()
    return "right" if off <= 0.01 else "silent"
