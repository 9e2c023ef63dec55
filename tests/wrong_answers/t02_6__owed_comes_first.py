# message: the new total comes first
def kahan_step(total, owed, x):
    sent = x + owed
    new = total + sent
    return sent - (new - total), new
