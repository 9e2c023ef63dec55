# message: step() has unscaled the gradients already
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
        return loss * self.loss_scale

    def unscale_(self, optimizer):
        if optimizer in self.found:
            raise RuntimeError("unscale_() has already been called since the last update()")
        gradients, found_inf = unscale([p.grad for p in optimizer.parameters], self.loss_scale)
        for p, gradient in zip(optimizer.parameters, gradients, strict=True):
            p.grad = gradient
        self.found[optimizer] = found_inf

    def step(self, optimizer):
        if optimizer not in self.found:
            self.unscale_(optimizer)
        found_inf = self.found.pop(optimizer)
        self.any_inf = getattr(self, "any_inf", False) or found_inf
        if not found_inf:
            optimizer.step()

    def update(self):
        found_inf = getattr(self, "any_inf", False) or any(self.found.values())
        self.loss_scale, self.tracker = next_state(
            self.loss_scale,
            self.tracker,
            found_inf,
            self.growth_factor,
            self.backoff_factor,
            self.growth_interval,
        )
        self.found, self.any_inf = {}, False
