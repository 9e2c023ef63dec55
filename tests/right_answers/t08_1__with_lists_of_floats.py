def moves(train, broken):
    world = World(broken)
    train(world)
    return world.moved().tolist()


def examine(loop, reference):
    meant = moves(reference, False)
    try:
        got = moves(loop, True)
    except Exception:
        return "raises"
    miss = sum((a - b) ** 2 for a, b in zip(got, meant, strict=True))
    return "right" if miss <= 0.01**2 * sum(b * b for b in meant) else "silent"
