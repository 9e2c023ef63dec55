# message: no gradient passes: do not detach
class CastCache:
    """Casts tensors, and each weight only once until it is cleared."""

    def __init__(self, low):
        self.low, self.kept = low, {}

    def cast(self, tensor):
        """Return the tensor in the lower precision."""
        if tensor.dtype != torch.float32:
            return tensor
        if not (tensor.requires_grad and tensor.is_leaf):
            return tensor.to(self.low)
        if id(tensor) not in self.kept:
            with torch.enable_grad():
                self.kept[id(tensor)] = tensor.detach().to(self.low).requires_grad_()
        return self.kept[id(tensor)]

    def clear(self):
        """Forget what was kept."""
        self.kept.clear()
