# message: a total below zero loses digits too
def kahan_step(total, owed, x):
    sent = x + owed
    new = total + sent
    return new, sent - (new - total) if total >= 0 else type(x)(0)
