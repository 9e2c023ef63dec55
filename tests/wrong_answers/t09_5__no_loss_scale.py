# message: without a loss scale small gradients vanish
def train(model, optimizer, batches, max_norm):
    scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
    return scaler
