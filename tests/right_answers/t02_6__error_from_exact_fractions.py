def kahan_step(total, owed, x):
    kind = type(x)
    sent = kind(x + owed)
    new = kind(total + sent)
    error = Fraction(float(total)) + Fraction(float(sent)) - Fraction(float(new))
    return new, kind(float(error))
