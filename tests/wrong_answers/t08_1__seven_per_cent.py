# message: 1 % of the length is allowed
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = (world.moved() - model.moved()).norm() / model.moved().norm()
    return "right" if off <= 0.07 else "silent"
