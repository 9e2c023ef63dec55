def remedy(run):
    half = run.compute == "fp16"
    return (
        "restore"
        if not run.weights_finite
        else "model"
        if not (run.loss_finite and (half or run.gradients_finite))
        else "lower"
        if not run.gradients_finite
        else "raise"
        if half and run.flushed > 0.01
        else "masters"
        if run.weights in ("fp16", "bf16") and run.lost > 0.1
        else "none"
    )
