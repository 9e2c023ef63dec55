from functools import reduce as fold


def reduced(gradients, scale, dtype, divide):
    def cast(x):
        return torch.tensor(x, dtype=torch.float64).to(dtype).item()

    sent = [cast(g * scale) for g in gradients]
    if divide == "before":
        sent = [cast(x / len(sent)) for x in sent]
    total = fold(lambda a, b: cast(a + b), sent)
    if divide == "after":
        total = cast(total / len(sent))
    return total / scale


def divisor(loss, reduce, samples, accumulation, ranks):
    samples_done = {("mean", "mean"): samples * ranks, ("mean", "sum"): samples}
    samples_done |= {("sum", "mean"): ranks, ("sum", "sum"): 1}
    return samples * accumulation * ranks // samples_done[loss, reduce]
