def kahan_step(total, owed, x):
    lost = -owed
    y = x - lost
    new = total + y
    return new, y - (new - total)
