# message: computed in a wider format
def kahan_step(total, owed, x):
    total, owed, x = float(total), float(owed), float(x)
    sent = x + owed
    new = total + sent
    return new, sent - (new - total)
