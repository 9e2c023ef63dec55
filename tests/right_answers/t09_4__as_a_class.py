class scale_loss:
    def __init__(self, loss, optimizer, scaler):
        self.loss, self.optimizer, self.scaler = loss, optimizer, scaler

    def __enter__(self):
        return self.loss.float().mul(self.scaler.scale)

    def __exit__(self, kind, error, trace):
        if kind is not None:
            return
        scaler, optimizer, bad = self.scaler, self.optimizer, False
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.grad.div_(scaler.scale)
                bad |= bool((p.grad - p.grad).ne(0).any())
        if bad:
            scaler.scale, scaler.good = scaler.scale / 2, 0
            original = optimizer.step

            def once(closure=None):
                optimizer.step = original

            optimizer.step = once
        else:
            scaler.good += 1
            if scaler.good >= scaler.window:
                scaler.good = 0
                scaler.scale = (
                    scaler.ceiling if 2 * scaler.scale > scaler.ceiling else 2 * scaler.scale
                )
