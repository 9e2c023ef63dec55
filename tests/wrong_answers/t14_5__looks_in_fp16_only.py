# message: without a scaler the scale is always 1
def fit(run, steps):
    """Train for some steps, note each; return how many were skipped."""
    skipped = 0
    for _ in range(steps):
        images, labels = run.batches.draw()
        loss, taken = train_step(run, images, labels)
        scale = run.scaler.get_scale()
        entry = {"loss": loss, "scale": scale, "taken": taken}
        run.history.append(entry)
        skipped += not taken
        lost = run.precision == "amp-fp16" and not math.isfinite(loss)
        if scale < SMALLEST_SCALE or lost:
            raise TrainingStopped(cause(run, images, labels))
    return skipped
