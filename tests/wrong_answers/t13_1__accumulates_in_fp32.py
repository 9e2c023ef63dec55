# message: the sum itself is taken in the type that travels, not in FP32
def reduced(gradients, scale, dtype, divide):
    sent = torch.tensor([g * scale for g in gradients]).to(dtype)
    if divide == "before":
        sent = sent / len(gradients)
    total = sent.float().sum()
    return (total / (len(gradients) if divide == "after" else 1) / scale).item()


def divisor(loss, reduce, samples, accumulation, ranks):
    divided = accumulation
    if loss == "sum":
        divided *= samples
    if reduce == "sum":
        divided *= ranks
    return divided
