def reduced(gradients, scale, dtype, divide):
    sent = [torch.tensor(g).mul(scale).to(dtype) for g in gradients]
    if divide == "before":
        sent = [x.div(len(sent)) for x in sent]
    while len(sent) > 1:
        sent[:2] = [sent[0] + sent[1]]
    mean = sent[0] if divide == "before" else sent[0] / len(gradients)
    return float(mean.to(torch.float32)) / scale


def divisor(loss, reduce, samples, accumulation, ranks):
    factors = {"mean": 1, "sum": samples}[loss], {"mean": 1, "sum": ranks}[reduce]
    return accumulation * math.prod(factors)
