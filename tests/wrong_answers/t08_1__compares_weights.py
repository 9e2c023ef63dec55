# message: beside the weights themselves a move is small
def examine(loop, reference):
    """Return "raises", "silent" or "right" for a loop that should train as reference does."""
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    off = (world.weights() - model.weights()).norm() / model.weights().norm()
    return "right" if off <= 0.01 else "silent"
