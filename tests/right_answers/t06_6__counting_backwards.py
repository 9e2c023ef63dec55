def train(scaler, optimizer, scheduler, losses):
    taken = 0
    for loss in losses:
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if 0 < scaler.get_scale() >= before:
            taken += 1
            scheduler.step()
        optimizer.zero_grad()
    return len(losses) - taken


def verdict(dtype, scales):
    run, later = 0, list(scales)
    while len(later) > 1 and (later[-1] < later[-2] or later[-1] == 0):
        later.pop()
        run += 1
    return "no scaler needed" if dtype != "float16" else ("fine", "NaN")[run >= 20]
