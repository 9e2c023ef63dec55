# message: gradients of different scales were added
def train_pair(a, b, sgd_a, sgd_b, scaler, batches):
    """Train two nets on two losses, with two optimizers and one scaler."""
    other = torch.amp.GradScaler("cpu", init_scale=scaler.get_scale())
    for batch in batches:
        sgd_a.zero_grad()
        sgd_b.zero_grad()
        first, second = two_losses(a, b, batch)
        scaler.scale(first).backward(retain_graph=True)
        other.scale(second).backward()
        scaler.step(sgd_a)
        scaler.update()
        other.step(sgd_b)
        other.update()
