from contextlib import ExitStack


def forward(model, x):
    with ExitStack() as stack:
        stack.enter_context(torch.autocast(device_type="cpu", dtype=torch.float16))
        return model(x)


def train(model, optimizer, batches, max_norm):
    scaler = torch.amp.GradScaler(device="cpu", growth_factor=2.0, backoff_factor=0.5)
    (group,) = optimizer.param_groups
    for x, y in iter(batches):
        model.zero_grad()
        loss = F.mse_loss(forward(model, x).to(y.dtype), y)
        scaled = loss * scaler.scale(torch.ones(()))
        scaled.backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grads_with_norm_(
            group["params"], max_norm, nn.utils.get_total_norm([p.grad for p in group["params"]])
        )
        scaler.step(optimizer)
        scaler.update(None)
    return scaler
