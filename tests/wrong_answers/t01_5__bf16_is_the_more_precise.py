# message: BF16 is not more precise
def finer(x):
    return "bf16"
