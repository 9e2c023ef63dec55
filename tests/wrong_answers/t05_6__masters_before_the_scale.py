# message: what vanishes comes before what is lost
def remedy(run):
    if not run.weights_finite:
        return "restore"
    if not run.loss_finite:
        return "model"
    if not run.gradients_finite:
        return "lower" if run.compute == "fp16" else "model"
    if run.weights != "fp32" and run.lost > 0.1:
        return "masters"
    if run.compute == "fp16" and run.flushed > 0.01:
        return "raise"
    return "none"
