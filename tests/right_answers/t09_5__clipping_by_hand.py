def train(model, optimizer, batches, max_norm):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=2000)
    for x, y in batches:
        for p in model.parameters():
            p.grad = None
        with torch.amp.autocast(device_type="cpu", dtype=torch.half):
            output = model(x)
        loss = (output.float() - y).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        factor = (max_norm / (torch.stack(norms).norm() + 1e-6)).clamp(max=1.0)
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= factor
        scaler.step(optimizer)
        scaler.update()
    return scaler
