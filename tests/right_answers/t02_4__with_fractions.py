def witness(code):
    middle = (Fraction(value(code)) + Fraction(value(code + 1))) / 2
    return middle * (1 + Fraction(-1 if code % 2 else 1, 10**9))
