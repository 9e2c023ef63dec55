# message: the scaler is off
# What GradScaler() becomes without CUDA, written out: a machine that has CUDA sees the same.
def train(model, optimizer, batches, max_norm):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
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
