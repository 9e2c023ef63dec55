# message: the weights alone are no checkpoint
def save(run, path):
    """Write all that the run depends on, whole or not at all."""
    state = {"model": run.model.state_dict(), "history": run.history}
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)


def load(run, path):
    """Put the run into the state that was saved."""
    state = torch.load(path, map_location="cpu")
    run.model.load_state_dict(state["model"])
    run.history = state["history"]
