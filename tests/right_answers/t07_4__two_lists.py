class CastCache:
    """Casts tensors, and each weight only once until it is cleared."""

    def __init__(self, low):
        self.low = low
        self.clear()

    def cast(self, tensor):
        """Return the tensor in the lower precision."""
        if tensor.dtype is not torch.float32:
            return tensor
        for weight, cast in zip(self.weights, self.casts, strict=True):
            if weight is tensor:
                return cast
        with torch.set_grad_enabled(tensor.is_leaf or torch.is_grad_enabled()):
            cast = tensor.to(self.low)
        if tensor.is_leaf and tensor.requires_grad:
            self.weights.append(tensor)
            self.casts.append(cast)
        return cast

    def clear(self):
        """Forget what was kept."""
        self.weights, self.casts = [], []
