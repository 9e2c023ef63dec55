def gap(x):
    return 2.0 ** (max(math.frexp(x)[1] - 1, -126) - 7)


def updated(w, updates, how, draws):
    kept, weights = float(w), []
    for step in range(len(updates)):
        total = fp32(kept + updates[step])
        parts = abs(total) / gap(total)
        whole = math.floor(parts + draws[step] / 65536) if how == "stochastic" else round(parts)
        weights.append(math.copysign(whole * gap(total), total))
        kept = weights[-1]
        if how == "master":
            kept = total
    return weights
