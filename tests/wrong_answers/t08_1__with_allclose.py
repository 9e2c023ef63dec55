# message: not weight by weight
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = torch.allclose(world.moved(), model.moved(), rtol=0.01)
    return "right" if off else "silent"
