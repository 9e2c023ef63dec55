"""Functions of one's own in O1's lists: as decorators, and by the module they are in.

The names are those of apex/amp/amp.py (NVIDIA/apex, 889d1712).
"""

from __future__ import annotations

import functools
from typing import Any

from ampcourse.amp.opt_levels.casts import Function
from ampcourse.amp.opt_levels.patches import Registration
from ampcourse.amp.opt_levels.state import _amp_state

_REGISTERED: list[Registration] = []


def half_function(function: Function) -> Function:
    """Cast a function's floating-point inputs to FP16 whenever O1 is in force."""
    return _decorated(function, "to_fp16")


def float_function(function: Function) -> Function:
    """Cast a function's floating-point inputs to FP32 whenever O1 is in force."""
    return _decorated(function, "to_fp32")


def promote_function(function: Function) -> Function:
    """Cast a function's FP16 inputs to FP32 if it gets both, whenever O1 is in force."""
    return _decorated(function, "promote")


def register_half_function(module: Any, name: str) -> None:
    """Have `module.name` cast its inputs to FP16 from the next initialize(opt_level="O1") on.

    Raises ValueError if the module has no such function; so do the two others.
    """
    _register(module, name, "to_fp16")


def register_float_function(module: Any, name: str) -> None:
    """Have `module.name` cast its inputs to FP32 from the next initialize(opt_level="O1") on."""
    _register(module, name, "to_fp32")


def register_promote_function(module: Any, name: str) -> None:
    """Have `module.name` promote mixed inputs from the next initialize(opt_level="O1") on."""
    _register(module, name, "promote")


def take_registered() -> list[Registration]:
    """Return what has been registered, and forget it: one initialize() uses it up, as in Apex."""
    registered = list(_REGISTERED)
    _REGISTERED.clear()
    return registered


def _register(module: Any, name: str, rule: str) -> None:
    if not hasattr(module, name):
        raise ValueError(
            f"{getattr(module, '__name__', module)} has no function {name!r}; register the "
            "module or class it is called through, and its name there"
        )
    if (module, name, rule) not in _REGISTERED:
        _REGISTERED.append((module, name, rule))


def _decorated(function: Function, rule: str) -> Function:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        casts = _amp_state.handle
        if casts is not None:
            args, kwargs = getattr(casts, rule)(args, kwargs, function.__name__)
        return function(*args, **kwargs)

    return wrapper
