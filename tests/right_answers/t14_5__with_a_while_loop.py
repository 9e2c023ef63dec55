def fit(run, steps):
    """Train for some steps, note each, and return how many were skipped."""
    taken_steps = done = 0
    while done < steps:
        batch = run.batches.draw()
        loss, taken = train_step(run, *batch)
        entry = dict(loss=loss, taken=taken, scale=run.scaler.get_scale())
        run.history += [entry]
        done, taken_steps = done + 1, taken_steps + taken
        if entry["scale"] < 1:
            raise TrainingStopped(cause(run, *batch))
        if math.isnan(loss) or math.isinf(loss):
            raise TrainingStopped(cause(run, *batch))
    return done - taken_steps
