def save(run, path):
    """Write all that the run depends on to a file, whole or not at all."""
    checkpoint = {
        "run": [part.state_dict() for part in (run.model, run.optimizer)],
        "more": [run.scheduler.state_dict(), run.scaler.state_dict()],
        "rest of the epoch": run.batches.order[run.batches.position :],
        "generators": torch.stack([torch.get_rng_state(), run.batches.generator.get_state()]),
        "history": [(entry["loss"], entry["scale"], entry["taken"]) for entry in run.history]
        if all(isinstance(entry["loss"], float) for entry in run.history)
        else run.history,
    }
    draft = str(path) + "~"
    with open(draft, "wb") as file:
        torch.save(checkpoint, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def load(run, path):
    """Put the run into the state that was saved."""
    checkpoint = torch.load(path)
    parts = run.model, run.optimizer, run.scheduler, run.scaler
    for part, state in zip(parts, checkpoint["run"] + checkpoint["more"], strict=True):
        part.load_state_dict(state)
    rest = checkpoint["rest of the epoch"]
    done = len(run.batches.images) - len(rest)
    run.batches.order = torch.cat([torch.zeros(done, dtype=torch.int64), rest])
    run.batches.position = done
    torch.set_rng_state(checkpoint["generators"][0].clone())
    run.batches.generator.set_state(checkpoint["generators"][1].clone())
    names = "loss", "scale", "taken"
    run.history = [dict(zip(names, entry, strict=True)) for entry in checkpoint["history"]]
