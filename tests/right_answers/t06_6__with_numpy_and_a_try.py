def train(scaler, optimizer, scheduler, losses):
    scales = [scaler.get_scale()]
    for loss in losses:
        optimizer.zero_grad()
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        if scales[-1] and scales[-1] >= scales[-2]:
            scheduler.step()
    return int(((np.diff(scales) < 0) | (np.array(scales[1:]) == 0)).sum())


def verdict(dtype, scales):
    if dtype in ("float32", "bfloat16"):
        return "no scaler needed"
    falls = (np.diff(np.array(scales)) < 0) | (np.array(scales[1:]) == 0)
    return "NaN" if falls.size >= 20 and falls[-20:].all() else "fine"
