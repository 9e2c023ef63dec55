def nearest(total):
    code = bits(total)
    rest, upper = code % 65536, code // 65536
    if rest > 32768 or (rest == 32768 and upper % 2 == 1):
        upper += 1
    return number_of(upper * 65536)


def drawn(total, draw):
    return number_of((bits(total) + draw) // 65536 * 65536)


def updated(w, updates, how, draws):
    if how == "master":
        masters = [w]
        for update in updates:
            masters.append(fp32(masters[-1] + update))
        return [nearest(master) for master in masters[1:]]
    weights = [w]
    for update, draw in zip(updates, draws):
        total = weights[-1] + update
        weights.append(drawn(total, draw) if how == "stochastic" else nearest(total))
    return weights[1:]
