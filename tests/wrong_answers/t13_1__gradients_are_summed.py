# message: gradients are averaged over the ranks, not summed
def reduced(gradients, scale, dtype, divide):
    ranks, total = len(gradients), None
    for gradient in gradients:
        sent = torch.tensor(gradient * scale, dtype=torch.float32).to(dtype)
        total = sent if total is None else total + sent
    return (total.float() / scale).item()


def divisor(loss, reduce, samples, accumulation, ranks):
    divided = accumulation
    if loss == "sum":
        divided *= samples
    if reduce == "sum":
        divided *= ranks
    return divided
