# message: the shares are fractions of 1
def remedy(run):
    if not run.weights_finite:
        return "restore"
    if not run.loss_finite:
        return "model"
    if not run.gradients_finite:
        return "lower" if run.compute == "fp16" else "model"
    if run.compute == "fp16" and run.flushed > 1:
        return "raise"
    if run.weights != "fp32" and run.lost > 10:
        return "masters"
    return "none"
