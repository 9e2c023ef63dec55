# message: cast a copy: the weight itself
def patch(owner, lists):
    FP16, FP32 = torch.float16, torch.float32

    def cast(value, dtype):
        floating = isinstance(value, torch.Tensor) and value.dtype in (FP16, FP32)
        if floating:
            value.data = value.data.to(dtype)
        return value

    def target(rule, values):
        types = {value.dtype for value in values if isinstance(value, torch.Tensor)}
        if rule == "promote":
            return FP32 if {FP16, FP32} <= types else None
        return FP16 if rule == "to_fp16" else FP32

    def wrap(function, rule):
        def wrapper(*args, **kwargs):
            dtype = target(rule, (*args, *kwargs.values()))
            if dtype is not None:
                args = [cast(value, dtype) for value in args]
                kwargs = {name: cast(value, dtype) for name, value in kwargs.items()}
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
