# message: return the number as text
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    nudge = middle * 2.0**-30
    return middle - nudge if code % 2 else middle + nudge
