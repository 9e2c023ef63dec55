def patch(owner, lists):
    saved = {}

    class Patched:
        def __init__(self, name, rule):
            self.function, self.rule = saved[name], rule

        def __call__(self, *args, **kwargs):
            places = {**dict(enumerate(args)), **kwargs}
            types = {k: v.dtype for k, v in places.items() if isinstance(v, torch.Tensor)}
            low = [k for k, dtype in types.items() if dtype is torch.float16]
            high = [k for k, dtype in types.items() if dtype is torch.float32]
            if self.rule == "to_fp16":
                places.update((k, places[k].half()) for k in high)
            elif self.rule == "to_fp32" or high:
                places.update((k, places[k].float()) for k in low)
            args = [places.pop(k) for k in range(len(args))]
            return self.function(*args, **places)

    for rule, names in lists.items():
        for name in filter(vars(owner).__contains__, names):
            saved.setdefault(name, getattr(owner, name))
            setattr(owner, name, Patched(name, rule))

    def undo():
        [setattr(owner, *item) for item in saved.items()]

    return undo
