def fit(run, steps):
    """Train for some steps, note each; return how many were skipped."""
    done = len(run.history)
    for _ in range(steps):
        images, labels = run.batches.draw()
        loss, taken = train_step(run, images, labels)
        scale = run.scaler.get_scale()
        entry = {"loss": loss, "scale": scale, "taken": taken}
        run.history.append(entry)
        lost = not math.isfinite(loss)
        if scale < SMALLEST_SCALE or lost:
            raise TrainingStopped(cause(run, images, labels))
    return [entry["taken"] for entry in run.history[done:]].count(False)
