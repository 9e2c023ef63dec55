# message: the same tensor came back, but it was cast again for nothing
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
        with torch.enable_grad():
            return self.kept.setdefault(id(tensor), tensor.to(self.low))

    def clear(self):
        """Forget what was kept."""
        self.kept.clear()
