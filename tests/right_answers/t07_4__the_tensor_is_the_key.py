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
        if tensor not in self.kept:
            with torch.set_grad_enabled(True):
                self.kept[tensor] = torch.empty_like(tensor, dtype=self.low).copy_(tensor)
        return self.kept[tensor]

    def clear(self):
        """Forget what was kept."""
        self.kept.clear()
