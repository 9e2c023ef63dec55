def updated(w, updates, how, draws):
    kept, seen = w, np.empty(len(updates))
    for i, (u, draw) in enumerate(zip(updates, draws)):
        code = bits(fp32(kept + u))
        add = draw if how == "stochastic" else 0x7FFF + (code >> 16) % 2
        seen[i] = number_of((code + add) >> 16 << 16)
        kept = number_of(code) if how == "master" else seen[i]
    return seen
