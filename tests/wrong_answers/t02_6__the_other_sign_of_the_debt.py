# message: owed comes out negated
def kahan_step(total, owed, x):
    sent = x - owed
    new = total + sent
    return new, (new - total) - sent
