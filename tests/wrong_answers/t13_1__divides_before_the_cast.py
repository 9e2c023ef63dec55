# message: the division before is done in the type that travels
def reduced(gradients, scale, dtype, divide):
    ranks, total = len(gradients), None
    for gradient in gradients:
        sent = torch.tensor(gradient * scale / (ranks if divide == "before" else 1)).to(dtype)
        total = sent if total is None else total + sent
    total = total / ranks if divide == "after" else total
    return (total.float() / scale).item()


def divisor(loss, reduce, samples, accumulation, ranks):
    divided = accumulation
    if loss == "sum":
        divided *= samples
    if reduce == "sum":
        divided *= ranks
    return divided
