class CastCache:
    """Casts tensors, and each weight only once until it is cleared."""

    def __init__(self, low):
        self.low = low
        self.kept = {}

    def cast(self, tensor):
        """Return the tensor in the lower precision."""
        match tensor.dtype, tensor.requires_grad, tensor.is_leaf:
            case torch.float32, True, True:
                try:
                    return self.kept[id(tensor)][1]
                except KeyError:
                    with torch.inference_mode(False), torch.enable_grad():
                        self.kept[id(tensor)] = (tensor, tensor.to(self.low))
                    return self.kept[id(tensor)][1]
            case torch.float32, _, _:
                return tensor.to(self.low)
        return tensor

    def clear(self):
        """Forget what was kept."""
        self.kept = {}
