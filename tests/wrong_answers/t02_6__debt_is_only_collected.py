# message: the debt is collected and never sent
def kahan_step(total, owed, x):
    new = total + x
    lost = x - (new - total)
    return new, owed + lost
