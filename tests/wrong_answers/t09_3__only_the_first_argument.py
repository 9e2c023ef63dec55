# message: every argument is cast, not the first one only
def patch(owner, lists):
    FP16, FP32 = torch.float16, torch.float32

    def cast(value, dtype):
        floating = isinstance(value, torch.Tensor) and value.dtype in (FP16, FP32)
        return value.to(dtype) if floating else value

    def target(rule, values):
        types = {value.dtype for value in values if isinstance(value, torch.Tensor)}
        if rule == "promote":
            return FP32 if {FP16, FP32} <= types else None
        return FP16 if rule == "to_fp16" else FP32

    def wrap(function, rule):
        def wrapper(*args, **kwargs):
            dtype = target(rule, (*args, *kwargs.values()))
            if dtype is not None:
                args = [cast(args[0], dtype), *args[1:]] if args else []
            return function(*args, **kwargs)

        return wrapper

    originals = {}
    for rule, names in lists.items():
        for name in names:
            if hasattr(owner, name):
                function = getattr(owner, name)
                originals.setdefault(name, function)
                setattr(owner, name, wrap(function, rule))

    def undo():
        for name, function in originals.items():
            setattr(owner, name, function)

    return undo
