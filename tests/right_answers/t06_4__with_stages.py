def next_state(
    scale, tracker, found_inf, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000
):
    if found_inf:
        return fp32(scale * backoff_factor), 0
    if tracker + 1 < growth_interval:
        return scale, tracker + 1
    grown = fp32(scale * growth_factor)
    return (grown if grown < math.inf else scale), 0


def unscale(gradients, scale):
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf


class Scaler(ScalerState):
    def scale(self, loss):
        return self.loss_scale * loss

    def unscale_(self, optimizer):
        stage, _ = self.found.get(id(optimizer), ("ready", False))
        if stage != "ready":
            raise RuntimeError(f"unscale_() when {stage}")
        inverse, bad = np.float32(1 / self.loss_scale), False
        for p in optimizer.parameters:
            if p.grad is not None:
                bad = bad or not np.isfinite(p.grad).all()
                p.grad = p.grad * inverse
        self.found[id(optimizer)] = ("unscaled", bad)

    def step(self, optimizer):
        stage, _ = self.found.get(id(optimizer), ("ready", False))
        if stage == "stepped":
            raise RuntimeError("step() twice")
        if stage == "ready":
            self.unscale_(optimizer)
        _, bad = self.found[id(optimizer)]
        if not bad:
            optimizer.step()
        self.found[id(optimizer)] = ("stepped", bad)

    def update(self):
        bad = any(bad for _, bad in self.found.values())
        factors = self.growth_factor, self.backoff_factor, self.growth_interval
        self.loss_scale, self.tracker = next_state(self.loss_scale, self.tracker, bad, *factors)
        self.found.clear()
