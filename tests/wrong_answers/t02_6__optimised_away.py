# message: addition is not associative
def kahan_step(total, owed, x):
    sent = x + owed
    return total + sent, np.subtract(total, total)
