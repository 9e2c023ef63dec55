def finer(x):
    def gap(emin, m):
        power = 2.0**emin
        while power * 2 <= abs(x):
            power *= 2
        return power / 2**m

    if not -65504 < x < 65504:
        return "bf16"
    fp16, bf16 = gap(-14, 10), gap(-126, 7)
    return {True: "same", fp16 < bf16: "fp16", bf16 < fp16: "bf16"}[True]
