class Trainer:
    """Trains a net with AMP; can evaluate, stop and go on."""

    def __init__(self, net, optimizer, scheduler, scaler):
        self.net, self.optimizer = net, optimizer
        self.scheduler, self.scaler = scheduler, scaler

    def step(self, batch):
        loss = loss_of(self.net, batch)
        self.net.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        grads = [p.grad for p in self.net.parameters() if p.grad is not None]
        taken = all(bool(torch.isfinite(grad).all()) for grad in grads)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if taken:
            self.scheduler.step()
        return float(loss)

    @torch.inference_mode()
    def evaluate(self, batch):
        was = self.net.training
        self.net.train(False)
        try:
            return float(loss_of(self.net, batch))
        finally:
            self.net.train(was)

    def parts(self):
        return [self.net, self.optimizer, self.scheduler, self.scaler]

    def state_dict(self):
        return {"parts": [part.state_dict() for part in self.parts()], "rng": torch.get_rng_state()}

    def load_state_dict(self, state):
        for part, saved in zip(self.parts(), state["parts"], strict=True):
            part.load_state_dict(saved)
        torch.random.set_rng_state(state["rng"])
