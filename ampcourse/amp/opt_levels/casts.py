"""What O1 does to the inputs of a function before it calls it.

The rules follow apex/amp/wrap.py (NVIDIA/apex, 2f0bf594) and utils.py (01802f62). Apex cast CUDA
tensors alone; here it is the tensors of the device that the model is on, so that a CPU will do
where there is no GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

Function = Callable[..., Any]
Call = tuple[tuple[Any, ...], dict[str, Any]]
Rule = Callable[[tuple[Any, ...], dict[str, Any], str], Call]

FP16, FP32 = torch.float16, torch.float32


class Casts:
    """The casts in force: for which device, whether active, and the cast weights kept.

    A weight in FP32 that an FP16 function asks for is cast once per backward pass and kept, so
    that a layer used twice has one cast weight, whose gradients add up in FP16. `verbose` prints
    each cast. The public methods after `clear_cache` are rules: they take the arguments of a call
    and the function's name and return the arguments to call it with.
    """

    def __init__(self, device_type: str, verbose: bool = False) -> None:
        self.device_type = device_type
        self.verbose = verbose
        self._is_active = True
        self._cache: dict[int, tuple[torch.Tensor, int, torch.Tensor]] = {}

    def is_active(self) -> bool:
        """Return whether functions cast at the moment."""
        return self._is_active

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """Let functions run on the types they get; over after an error too, unlike Apex's."""
        before, self._is_active = self._is_active, False
        try:
            yield
        finally:
            self._is_active = before

    def clear_cache(self) -> None:
        """Forget the cast weights: the step is about to change them."""
        self._cache.clear()

    def to_fp16(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Cast every input to FP16, and keep the cast weights."""
        return self._cast_all(args, kwargs, FP16, name, keep=True)

    def to_fp16_anew(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Cast every input to FP16."""
        return self._cast_all(args, kwargs, FP16, name)

    def to_fp32(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Cast every input to FP32, FP64 as well."""
        return self._cast_all(args, kwargs, FP32, name)

    def promote(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Cast FP16 beside FP32 to FP32; any other mixture raises NotImplementedError."""
        types = floating_types(args, kwargs) if self._is_active else set()
        if len(types) < 2:
            return args, kwargs
        if types != {FP16, FP32}:
            raise NotImplementedError(
                f"under O1, {name} got {' and '.join(sorted(map(str, types)))}; of mixtures it "
                "knows only float16 and float32: cast one of the inputs yourself"
            )
        return self._cast_all(args, kwargs, FP32, name)

    def promote_sequence(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Cast the tensors of the sequence that comes first to FP32 if both types are in it."""
        if not (self._is_active and args and {tensor.dtype for tensor in args[0]} == {FP16, FP32}):
            return args, kwargs
        return ([self._cast(tensor, FP32, name) for tensor in args[0]], *args[1:]), kwargs

    def like_the_first(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Cast the other inputs to the type of the first, which is changed in place."""
        if args[0].dtype not in (FP16, FP32):
            return args, kwargs
        rest, kwargs = self._cast_all(args[1:], kwargs, args[0].dtype, name)
        return (args[0], *rest), kwargs

    def refuse_fp16(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Raise NotImplementedError if an input is FP16, even where casts are disabled."""
        if FP16 in floating_types(args, kwargs):
            raise NotImplementedError(_REFUSALS.get(name, _IN_PLACE).format(name=name))
        return args, kwargs

    def refuse_fp16_first(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Call:
        """Raise NotImplementedError on an FP16 tensor; else cast the other inputs to FP32."""
        if args[0].dtype == FP16:
            raise NotImplementedError(_IN_PLACE.format(name=name))
        rest, kwargs = self._cast_all(args[1:], kwargs, FP32, name)
        return (args[0], *rest), kwargs

    def _cast_all(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        dtype: torch.dtype,
        name: str,
        keep: bool = False,
    ) -> Call:
        if not self._is_active:
            return args, kwargs

        def cast(value: Any) -> Any:
            return self._cast(value, dtype, name, keep) if is_floating(value) else value

        return tuple(map(cast, args)), {key: cast(value) for key, value in kwargs.items()}

    def _cast(self, value: Any, dtype: torch.dtype, name: str, keep: bool = False) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([self._cast(item, dtype, name, keep) for item in value])
        if value.device.type != self.device_type or value.dtype == dtype:
            return value
        if keep and isinstance(value, torch.nn.Parameter) and value.dtype == FP32:
            return self._kept(value, dtype, name)
        return self._new(value, dtype, name)

    def _kept(self, weight: torch.Tensor, dtype: torch.dtype, name: str) -> torch.Tensor:
        entry = self._cache.get(id(weight))
        if entry is not None:
            _, version, cast = entry
            # A cast made without gradients is of no use to a pass with them. Apex did not look
            # at the version, and went on with old values if weights changed without a backward.
            connected = weight.requires_grad == cast.requires_grad or not torch.is_grad_enabled()
            if connected and version == weight._version:
                return cast
        cast = self._new(weight, dtype, name)
        self._cache[id(weight)] = (weight, weight._version, cast)
        return cast

    def _new(self, value: torch.Tensor, dtype: torch.dtype, name: str) -> torch.Tensor:
        if self.verbose:
            print(f"{'Float->Half' if dtype == FP16 else 'Half->Float'} ({name})")
        return value.to(dtype)


_IN_PLACE = "under O1, {name} changes no FP16 tensor in place; use it without the underscore"
_REFUSALS = {
    "binary_cross_entropy": (
        "O1 passes no FP16 to {name} (nn.BCELoss), whose logarithms need FP32. Use "
        "binary_cross_entropy_with_logits (nn.BCEWithLogitsLoss) instead of a sigmoid and this, or "
        "call amp.register_float_function(torch, 'sigmoid') before amp.initialize."
    )
}


def wrap(function: Function, rule: Rule, name: str) -> Function:
    """Return a function that calls another with what a rule makes of the arguments."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = rule(args, kwargs, name)
        return function(*args, **kwargs)

    return wrapper


def is_floating(value: Any) -> bool:
    """Return whether it is a floating-point tensor, or a list or tuple of nothing else."""
    if isinstance(value, list | tuple):
        return all(map(is_floating, value))
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def floating_types(args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[torch.dtype]:
    """Return the types of the floating-point tensors among the arguments of a call."""
    types: set[torch.dtype] = set()
    for value in filter(is_floating, (*args, *kwargs.values())):
        nested = isinstance(value, list | tuple)
        types |= floating_types(tuple(value), {}) if nested else {value.dtype}
    return types
