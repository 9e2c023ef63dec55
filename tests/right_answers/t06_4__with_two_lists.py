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
    def __init__(self, *options, **more):
        super().__init__(*options, **more)
        self.unscaled, self.bad = [], []

    def scale(self, loss):
        return loss * self.loss_scale

    def unscale_(self, optimizer):
        if optimizer in self.unscaled:
            raise RuntimeError("already unscaled")
        self.unscaled.append(optimizer)
        parameters = optimizer.parameters
        gradients, overflow = unscale([p.grad for p in parameters], self.loss_scale)
        for k in range(len(parameters)):
            parameters[k].grad = gradients[k]
        if overflow:
            self.bad.append(optimizer)

    def step(self, optimizer):
        if optimizer not in self.unscaled:
            self.unscale_(optimizer)
        return None if optimizer in self.bad else optimizer.step()

    def update(self):
        if self.bad:
            self.loss_scale, self.tracker = fp32(self.loss_scale * self.backoff_factor), 0
        elif self.tracker + 1 == self.growth_interval:
            grown = fp32(self.loss_scale * self.growth_factor)
            self.loss_scale, self.tracker = min((grown, self.loss_scale), key=math.isinf), 0
        else:
            self.tracker += 1
        self.unscaled, self.bad = [], []
