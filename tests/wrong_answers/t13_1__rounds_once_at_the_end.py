# message: rounded each time, not once at the end
def reduced(gradients, scale, dtype, divide):
    sent = torch.tensor([g * scale for g in gradients]).to(dtype)
    if divide == "before":
        sent = sent / len(gradients)
    total = sent.double().sum().to(dtype)
    if divide == "after":
        total = total / len(gradients)
    return (total.float() / scale).item()


def divisor(loss, reduce, samples, accumulation, ranks):
    divided = accumulation
    if loss == "sum":
        divided *= samples
    if reduce == "sum":
        divided *= ranks
    return divided
