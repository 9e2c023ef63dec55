# message: a wider format on the way
def kahan_step(total, owed, x):
    kind = type(x)
    sent = float(x) + float(owed)
    new = kind(float(total) + sent)
    return new, kind(sent - (float(new) - float(total)))
