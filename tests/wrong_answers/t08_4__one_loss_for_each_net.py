# message: the losses depend on both
def train_pair(a, b, sgd_a, sgd_b, scaler, batches):
    """Train two nets on two losses, with two optimizers and one scaler."""
    for batch in batches:
        sgd_a.zero_grad()
        sgd_b.zero_grad()
        first, second = two_losses(a, b, batch)
        (a.weight.grad,) = torch.autograd.grad(scaler.scale(first), a.weight, retain_graph=True)
        (b.weight.grad,) = torch.autograd.grad(scaler.scale(second), b.weight)
        scaler.step(sgd_a)
        scaler.step(sgd_b)
        scaler.update()
