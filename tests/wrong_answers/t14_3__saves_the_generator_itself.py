# message: objects were saved, which torch.load refuses
def save(run, path):
    """Write all that the run depends on, whole or not at all."""
    names = "model", "optimizer", "scheduler", "scaler"
    state = {name: getattr(run, name).state_dict() for name in names}
    batches = run.batches
    state["order"], state["position"] = batches.order, batches.position
    state["generator"] = batches.generator
    state["random"] = torch.get_rng_state()
    state["history"] = run.history
    if run.device == "cuda":
        state["random_cuda"] = torch.cuda.get_rng_state()
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)


def load(run, path):
    """Put the run into the state that was saved."""
    state = torch.load(path, map_location="cpu")
    for name in ("model", "optimizer", "scheduler", "scaler"):
        getattr(run, name).load_state_dict(state[name])
    batches = run.batches
    batches.order, batches.position = state["order"], state["position"]
    batches.generator.set_state(state["generator"])
    torch.set_rng_state(state["random"])
    run.history = state["history"]
    if run.device == "cuda":
        torch.cuda.set_rng_state(state["random_cuda"])
