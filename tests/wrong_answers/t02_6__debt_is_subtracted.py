# message: the old debt is subtracted
def kahan_step(total, owed, x):
    sent = x - owed
    new = total + sent
    return new, sent - (new - total)
