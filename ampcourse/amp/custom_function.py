"""Custom autograd functions under our autocast: the twins of torch.amp.custom_fwd and custom_bwd.

A function written by hand has a forward and a backward that autocast cannot hold together: the
backward runs outside the region. These decorators note at the forward what was in force and put
it in force again at the backward, or make the forward run in one type of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ampcourse.amp.autocast import autocast, get_autocast_dtype, is_autocast_enabled


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: torch.dtype | None = None,
) -> Callable[..., Any]:
    """Decorate the forward of a torch.autograd.Function, as torch.amp.custom_fwd.

    Without `cast_inputs`, the forward runs under whatever is in force where it is called. With
    it, in a region that is enabled, floating-point inputs on the device (not float64) are cast to
    that type and the forward runs with autocast off; outside a region nothing is done. Raises
    ValueError for a device type that is no str.
    """
    _check(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = _cast((args, kwargs), device_type, cast_inputs)
            return fwd(ctx, *args, **kwargs)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the backward of a torch.autograd.Function, as torch.amp.custom_bwd.

    It runs under the autocast, on or off, that the forward ran under. Raises ValueError for a
    device type that is no str.
    """
    _check(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _check(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(
            f"device_type is a str such as 'cpu' or 'cuda', got {device_type!r}; write "
            f"@custom_fwd(device_type='cpu') with parentheses"
        )


def _cast(value: Any, device_type: str, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        right_type = value.is_floating_point() and value.dtype != torch.float64
        return value.to(dtype) if right_type and value.device.type == device_type else value
    if isinstance(value, Mapping):
        return {name: _cast(item, device_type, dtype) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, device_type, dtype) for item in value)
    return value
