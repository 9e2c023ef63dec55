# message: that is the ulp of FP16
def ulp(x, fmt):
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.spacing(np.float16(abs(x))))
