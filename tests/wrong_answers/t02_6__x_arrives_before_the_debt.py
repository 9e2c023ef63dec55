# message: total + x rounds before the debt arrives
def kahan_step(total, owed, x):
    new = total + x + owed
    return new, (x + owed) - (new - total)
