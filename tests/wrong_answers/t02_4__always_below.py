# message: the tie goes there too
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    return repr(middle * (1 - 2.0**-30))
