def remedy(run):
    scale_helps = run.compute == "fp16"
    questions = {
        "restore": not run.weights_finite,
        "model": not run.loss_finite or (not run.gradients_finite and not scale_helps),
        "lower": not run.gradients_finite and scale_helps,
        "raise": run.flushed > 0.01 and scale_helps,
        "masters": run.lost > 0.1 and run.weights != "fp32",
        "none": True,
    }
    return next(name for name, answer in questions.items() if answer)
