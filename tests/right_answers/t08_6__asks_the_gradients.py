class Trainer:
    """Trains a net with AMP; can evaluate, stop and go on."""

    def __init__(self, net, optimizer, scheduler, scaler):
        self.net, self.optimizer = net, optimizer
        self.scheduler, self.scaler = scheduler, scaler

    def step(self, batch):
        """Train on one batch and return its loss as a float."""
        self.optimizer.zero_grad()
        loss = loss_of(self.net, batch)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        taken = all(p.grad.isfinite().all() for p in self.net.parameters())
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if taken:
            self.scheduler.step()
        return loss.item()

    def evaluate(self, batch):
        """Return the loss of one batch as a float and change nothing."""
        self.net.eval()
        with torch.no_grad():
            loss = loss_of(self.net, batch)
        self.net.train()
        return loss.item()

    def state_dict(self):
        """Return everything that a resumed training needs."""
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": torch.get_rng_state(),
        }

    def load_state_dict(self, state):
        """Go on from a state."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"])
