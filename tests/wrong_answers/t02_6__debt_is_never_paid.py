# message: the old debt is not paid
def kahan_step(total, owed, x):
    new = total + x
    return new, x - (new - total)
