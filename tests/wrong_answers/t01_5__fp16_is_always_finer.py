# message: FP16 is not finer everywhere
def finer(x):
    return "fp16"
