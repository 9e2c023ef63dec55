def next_state(
    scale, tracker, found_inf, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000
):
    if found_inf:
        return fp32(scale * backoff_factor), 0
    if tracker + 1 < growth_interval:
        return scale, tracker + 1
    grown = fp32(scale * growth_factor)
    return (grown if grown < math.inf else scale), 0


class Scaler(ScalerState):
    """As in PyTorch, a step without any gradient is refused."""

    def scale(self, loss):
        return loss * self.loss_scale

    def unscale_(self, optimizer):
        if id(optimizer) in self.found:
            raise RuntimeError("unscale_() has already been called since the last update()")
        inverse, checks = np.float32(1 / self.loss_scale), []
        for p in optimizer.parameters:
            if p.grad is not None:
                checks.append(not np.isfinite(p.grad).all())
                p.grad = p.grad * inverse
        self.found[id(optimizer)] = checks

    def step(self, optimizer):
        if id(optimizer) not in self.found:
            self.unscale_(optimizer)
        checks = self.found[id(optimizer)]
        assert checks, "No inf checks were recorded for this optimizer."
        if not any(checks):
            return optimizer.step()

    def update(self):
        assert self.found, "No inf checks were recorded prior to update."
        found_inf = any(map(any, self.found.values()))
        self.loss_scale, self.tracker = next_state(
            self.loss_scale,
            self.tracker,
            found_inf,
            self.growth_factor,
            self.backoff_factor,
            self.growth_interval,
        )
        self.found = {}
