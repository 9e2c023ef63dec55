class CastCache:
    """Casts tensors, and each weight only once until it is cleared."""

    def __init__(self, low):
        self.low, self.kept = low, {}

    def cast(self, tensor):
        """Return the tensor in the lower precision."""
        trained = tensor.requires_grad and tensor.grad_fn is None
        if tensor.dtype == torch.float32 and trained:
            return self.kept[id(tensor)] if id(tensor) in self.kept else self.keep(tensor)
        return tensor.type(self.low) if tensor.dtype == torch.float32 else tensor

    @torch.enable_grad()
    def keep(self, tensor):
        """Cast a weight and keep the cast."""
        self.kept[id(tensor)] = tensor.type(self.low)
        return self.kept[id(tensor)]

    def clear(self):
        """Forget what was kept."""
        self.kept = {}
