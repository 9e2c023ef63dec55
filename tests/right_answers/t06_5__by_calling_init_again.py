OPTIONS = ("growth_factor", "backoff_factor", "growth_interval")


def state_dict(scaler):
    kept = {name: vars(scaler)[name] for name in OPTIONS}
    return dict(scale=scaler.loss_scale, _growth_tracker=scaler.tracker) | kept


def load_state_dict(scaler, state):
    scaler.__init__(state["scale"], *(state[name] for name in OPTIONS))
    scaler.tracker = state["_growth_tracker"]
