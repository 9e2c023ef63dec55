def updated(w, updates, how, draws):
    kept, weights = np.float32(w), []
    for update, draw in zip(updates, draws):
        total = np.float32(np.float64(kept) + update)
        code = int(total.view(np.uint32))
        low = code & 0xFFFF
        code -= low
        if how == "stochastic":
            up = low + draw >= 0x10000
        else:
            up = low > 0x8000 or (low == 0x8000 and code & 0x10000)
        short = np.uint32(code + (0x10000 if up else 0)).view(np.float32)
        weights.append(float(short))
        kept = total if how == "master" else short
    return weights
