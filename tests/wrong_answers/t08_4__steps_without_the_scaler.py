# message: an infinite gradient went into the weights
def train_pair(a, b, sgd_a, sgd_b, scaler, batches):
    """Train two nets on two losses, with two optimizers and one scaler."""
    for batch in batches:
        sgd_a.zero_grad()
        sgd_b.zero_grad()
        first, second = two_losses(a, b, batch)
        scaler.scale(first).backward(retain_graph=True)
        scaler.scale(second).backward()
        scaler.unscale_(sgd_a)
        scaler.unscale_(sgd_b)
        sgd_a.step()
        sgd_b.step()
        scaler.update()
