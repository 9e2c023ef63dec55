def seen(engine, gradients):
    parts = torch.tensor(gradients).sum(0).reshape(len(gradients), -1)
    found = ~parts.isfinite().all(1)
    return found.tolist() if engine == "sharded" else [found.any().item()] * len(gradients)


def agreed_step(ranks, lr):
    flat = torch.tensor([g for _, gradients, _ in ranks for g in gradients])
    skip = not flat.isfinite().all()
    after = []
    for weights, gradients, scale in ranks:
        new = torch.tensor(weights) - lr * torch.tensor(gradients) / scale
        after.append((weights, scale * 0.5) if skip else (new.tolist(), scale))
    return after
