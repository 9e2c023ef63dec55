# message: autocast needs no model.half()
def train(model, optimizer, batches, max_norm):
    scaler = torch.amp.GradScaler("cpu")
    model.half()
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        for p in model.parameters():
            p.data, p.grad = p.data.float(), p.grad.float()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
    return scaler
