class Trainer:
    """Trains a net with AMP; can evaluate, stop and go on."""

    def __init__(self, net, optimizer, scheduler, scaler):
        self.net, self.optimizer = net, optimizer
        self.scheduler, self.scaler = scheduler, scaler

    def step(self, batch):
        scaled = self.scaler.scale(loss_of(self.net, batch))
        scaled.backward()
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        if not self.scaler.get_scale() < scale:
            self.scheduler.step()
        return scaled.item() / scale

    def evaluate(self, batch):
        x, y = batch
        with torch.no_grad():
            self.net.eval()
            loss = mse_loss(self.net(x), y).item()
            self.net.train()
        return loss

    def state_dict(self):
        torch_state = torch.random.get_rng_state().clone()
        names = "net", "optimizer", "scheduler", "scaler"
        return {name: getattr(self, name).state_dict() for name in names} | {"rng": torch_state}

    def load_state_dict(self, state):
        state = dict(state)
        torch.set_rng_state(state.pop("rng"))
        for name in state:
            getattr(self, name).load_state_dict(state[name])
