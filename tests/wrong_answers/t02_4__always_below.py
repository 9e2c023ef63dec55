# message: on the side to which the tie goes, both ways agree
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    return middle * (1 - 2.0**-30)
