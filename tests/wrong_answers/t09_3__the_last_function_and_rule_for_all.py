# message: all patched functions call the one that was patched last
def patch(owner, lists):
    originals = {}
    for rule, names in lists.items():
        for name in names:
            if not hasattr(owner, name):
                continue
            function = getattr(owner, name)
            originals.setdefault(name, function)

            def wrapper(*args, **kwargs):
                floats = [torch.float16, torch.float32]
                values = [*args, *kwargs.values()]
                types = {v.dtype for v in values if isinstance(v, torch.Tensor)}
                dtype = torch.float16 if rule == "to_fp16" else torch.float32
                if rule == "promote" and not types >= set(floats):
                    return function(*args, **kwargs)

                def cast(v):
                    return v.to(dtype) if isinstance(v, torch.Tensor) and v.dtype in floats else v

                return function(*map(cast, args), **{k: cast(v) for k, v in kwargs.items()})

            setattr(owner, name, wrapper)

    def undo():
        for name, original in originals.items():
            setattr(owner, name, original)

    return undo
