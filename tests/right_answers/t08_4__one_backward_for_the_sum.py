def train_pair(a, b, sgd_a, sgd_b, scaler, batches):
    """Train two nets on two losses, with two optimizers and one scaler."""
    for batch in batches:
        first, second = two_losses(a, b, batch)
        sgd_a.zero_grad()
        sgd_b.zero_grad()
        scaler.scale(first + second).backward()
        scaler.step(sgd_b)
        scaler.step(sgd_a)
        scaler.update()
