# message: both nets have to move
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    size = sum(p.numel() for p in model.net.parameters())
    try:
        loop(world)
    except Exception:
        return "raises"
    meant = model.moved()[:size]
    off = (world.moved()[:size] - meant).norm() / meant.norm()
    return "right" if off <= 0.01 else "silent"
