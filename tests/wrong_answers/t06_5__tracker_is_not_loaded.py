# message: the tracker of the state belongs in the scaler
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
    scaler.loss_scale = state["scale"]
    scaler.growth_factor = state["growth_factor"]
    scaler.backoff_factor = state["backoff_factor"]
    scaler.growth_interval = state["growth_interval"]
