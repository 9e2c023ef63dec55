# message: addition is not associative
def kahan_step(total, owed, x):
    sent = x + owed
    new = total + sent
    return new, (total + sent) - new
