def kahan_step(total, owed, x):
    sent = x + owed
    new = total + sent
    of_sent = new - total
    of_total = new - of_sent
    return new, (total - of_total) + (sent - of_sent)
