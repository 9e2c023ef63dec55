def examine(loop, reference):
    world, model = World(), World(broken=False)
    reference(model)
    try:
        loop(world)
    except Exception:
        return "raises"
    got, meant = world.moved().double(), model.moved().double()
    missed = got @ got + meant @ meant - 2 * (got @ meant)
    if missed.isnan() or missed > 1e-4 * (meant @ meant):
        return "silent"
    return "right"
