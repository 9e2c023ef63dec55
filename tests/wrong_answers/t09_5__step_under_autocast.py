# message: the optimizer stepped under autocast
def train(model, optimizer, batches, max_norm):
    scaler = torch.amp.GradScaler("cpu")
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_norm)
        with torch.autocast("cpu", dtype=torch.float16):
            scaler.step(optimizer)
        scaler.update()
    return scaler
