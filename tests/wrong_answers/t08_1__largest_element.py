# message: not its largest element
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = (world.moved() - model.moved()).abs().max() / model.moved().abs().max()
    return "right" if off <= 0.01 else "silent"
