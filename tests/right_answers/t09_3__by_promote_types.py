import functools


def patch(owner, lists):
    saved = {n: vars(owner)[n] for names in lists.values() for n in names if n in vars(owner)}

    def widest(values):
        kinds = [v.dtype for v in values if torch.is_tensor(v) and torch.is_floating_point(v)]
        return functools.reduce(torch.promote_types, kinds) if kinds else torch.float32

    def patched(function, rule):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            dtype = {"to_fp16": torch.float16, "to_fp32": torch.float32}.get(rule)
            dtype = dtype or widest([*args, *kwargs.values()])

            def to(v):
                if torch.is_tensor(v) and torch.is_floating_point(v) and v.dtype != dtype:
                    return v.to(dtype)
                return v

            return function(*[to(v) for v in args], **{k: to(v) for k, v in kwargs.items()})

        return inner

    for rule, names in lists.items():
        for name in set(names) & set(saved):
            setattr(owner, name, patched(saved[name], rule))
    return lambda: vars(owner).update(saved)
