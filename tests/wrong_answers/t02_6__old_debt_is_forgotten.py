# message: so it can be owed again
def kahan_step(total, owed, x):
    new = total + (x + owed)
    return new, x - (new - total)
