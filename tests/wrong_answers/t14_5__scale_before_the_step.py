# message: the scale was asked for before the step
def fit(run, steps):
    """Train for some steps, note each; return how many were skipped."""
    skipped = 0
    for _ in range(steps):
        images, labels = run.batches.draw()
        scale = run.scaler.get_scale()
        loss, taken = train_step(run, images, labels)
        entry = {"loss": loss, "scale": scale, "taken": taken}
        run.history.append(entry)
        skipped += not taken
        lost = not math.isfinite(loss)
        if scale < SMALLEST_SCALE or lost:
            raise TrainingStopped(cause(run, images, labels))
    return skipped
