# message: two types met in the backward
def mend(function, in_fp32):
    """Return a Function that does what `function` does, right under autocast."""
    return function
