def block_fma(A, B, C):
    def nearest(x):
        if x == 0:
            return Fraction(0)
        unit = Fraction(1)
        while abs(x) < unit * 2**23:
            unit /= 2
        while abs(x) >= unit * 2**24:
            unit *= 2
        return round(x / unit) * unit

    def element(row, column, start):
        total = Fraction(start)
        for x, y in zip(row, column):
            total = nearest(total + Fraction(x) * Fraction(y))
        return float(total)

    columns = list(zip(*B))
    return [[element(A[i], columns[j], C[i][j]) for j in range(4)] for i in range(4)]
