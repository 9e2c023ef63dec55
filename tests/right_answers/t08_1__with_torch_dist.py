def examine(loop, reference):
    verdict, world, model = "raises", World(), World(broken=False)
    try:
        loop(world)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
    else:
        reference(model)
        missed = torch.dist(world.moved(), model.moved(), p=2).item()
        verdict = ("silent", "right")[missed <= model.moved().norm().item() / 100]
    return verdict
