def remedy(run):
    finite = run.weights_finite, run.loss_finite, run.gradients_finite
    match (*finite, run.compute == "fp16"):
        case (False, _, _, _):
            return "restore"
        case (_, False, _, _) | (_, _, False, False):
            return "model"
        case (_, _, False, True):
            return "lower"
        case (_, _, _, True) if run.flushed > 0.01:
            return "raise"
    return "masters" if run.lost > 0.1 and run.weights in {"fp16", "bf16"} else "none"
