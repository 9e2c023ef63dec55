@torch.autocast("cpu", dtype=torch.float16)
def loss_of(model, x, y):
    return nn.MSELoss()(model(x), y)


def train(model, optimizer, batches, max_norm):
    scaler = torch.GradScaler("cpu")
    for batch in batches:
        optimizer.zero_grad(set_to_none=False)
        torch.autograd.backward(scaler.scale(loss_of(model, *batch)))
        scaler.unscale_(optimizer)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(params, max_norm)
        scaler.step(optimizer)
        scaler.update()
    return scaler
