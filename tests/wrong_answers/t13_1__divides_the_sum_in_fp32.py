# message: the division after the sum is done in dtype as well
def reduced(gradients, scale, dtype, divide):
    ranks, total = len(gradients), None
    for gradient in gradients:
        sent = torch.tensor(gradient * scale, dtype=torch.float32).to(dtype)
        sent = sent / ranks if divide == "before" else sent
        total = sent if total is None else total + sent
    total = total.float() / ranks if divide == "after" else total
    return (total.float() / scale).item()


def divisor(loss, reduce, samples, accumulation, ranks):
    divided = accumulation
    if loss == "sum":
        divided *= samples
    if reduce == "sum":
        divided *= ranks
    return divided
