NAMES = {
    "scale": "loss_scale",
    "growth_factor": "growth_factor",
    "backoff_factor": "backoff_factor",
    "growth_interval": "growth_interval",
    "_growth_tracker": "tracker",
}


def state_dict(scaler):
    return {theirs: getattr(scaler, ours) for theirs, ours in NAMES.items()}


def load_state_dict(scaler, state):
    for theirs, ours in NAMES.items():
        setattr(scaler, ours, state[theirs])
