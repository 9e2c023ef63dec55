@contextmanager
def scale_loss(loss, optimizer, scaler):
    scale, groups = scaler.scale, optimizer.param_groups
    yield scale * loss.type(torch.float32)
    gradients = [p.grad for g in groups for p in g["params"] if p.grad is not None]
    torch._foreach_div_(gradients, scale)
    bits = torch.cat([g.flatten() for g in gradients]).view(torch.int32)
    if bool((bits.bitwise_and(0x7F800000) == 0x7F800000).any()):
        scaler.scale, scaler.good = scale / 2, 0
        emptied = [group["params"] for group in groups]
        for group in groups:
            group["params"] = []

        def refill(*_):
            for group, params in zip(groups, emptied, strict=True):
                group["params"] = params
            handle.remove()

        handle = optimizer.register_step_post_hook(refill)
    else:
        good = scaler.good + 1
        full = good == scaler.window
        scaler.good = 0 if full else good
        scaler.scale = min(scale * (1 + full), scaler.ceiling)
