# message: BF16 is not the more precise one
def finer(x):
    return "bf16"
