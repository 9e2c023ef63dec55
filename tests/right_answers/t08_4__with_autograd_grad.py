def train_pair(a, b, sgd_a, sgd_b, scaler, batches):
    parameters = [*a.parameters(), *b.parameters()]
    for batch in batches:
        losses = [scaler.scale(loss) for loss in two_losses(a, b, batch)]
        for p, grad in zip(parameters, torch.autograd.grad(losses, parameters), strict=True):
            p.grad = grad
        for sgd in (sgd_a, sgd_b):
            scaler.unscale_(sgd)
        for sgd in (sgd_a, sgd_b):
            scaler.step(sgd)
        scaler.update()
