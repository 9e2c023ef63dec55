"""One op that ran, as the dispatcher saw it: below autograd and autocast, so with real types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from ampcourse.diagnose.numbers_seen import float_tensors
from ampcourse.diagnose.place import Place


@dataclass(frozen=True)
class Schema:
    """What an op's declaration says of it."""

    name: str
    is_view: bool
    mutated: tuple[str, ...]
    arguments: tuple[str, ...]
    repeatable: bool


@cache
def schema_of(func: Any) -> Schema:
    """Read an op's declaration: a view only renames numbers, a mutated argument is overwritten."""
    declared = func._schema
    aliases = [value.alias_info for value in declared.returns]
    return Schema(
        name=func.overloadpacket.__name__,
        is_view=any(alias is not None and not alias.is_write for alias in aliases),
        mutated=tuple(
            a.name for a in declared.arguments if a.alias_info is not None and a.alias_info.is_write
        ),
        arguments=tuple(a.name for a in declared.arguments),
        repeatable=torch.Tag.nondeterministic_seeded not in func.tags and not declared.is_mutable,
    )


@dataclass(frozen=True)
class Op:
    """An op with its arguments, its outputs and its place.

    In a backward pass `node` is the autograd node that runs, and `place` is where the forward op
    it belongs to was called.
    """

    func: Any
    schema: Schema
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    output: Any
    place: Place
    node: Any = None
    #: Whether gradients are on where the module was called: autocast turns them on for a cast
    #: that it keeps, so that what an op sees itself does not tell an evaluation.
    training: bool = True

    @property
    def name(self) -> str:
        """The op's name in ATen, e.g. "addmm" for a Linear."""
        return self.schema.name

    @property
    def backward(self) -> bool:
        """Whether the op ran in a backward pass."""
        return self.node is not None

    def outputs(self) -> list[torch.Tensor]:
        """Return the floating-point outputs; for an op that returns nothing, what it changed."""
        return list(float_tensors(self.output)) or list(float_tensors(self.overwritten()))

    def overwritten(self) -> list[Any]:
        """Return the arguments that the op changed."""
        named = dict(zip(self.schema.arguments, self.args, strict=False)) | dict(self.kwargs)
        return [named[name] for name in self.schema.mutated if name in named]

    def inputs(self) -> list[torch.Tensor]:
        """Return the floating-point inputs that are still what they were."""
        gone = {id(tensor) for tensor in float_tensors(self.overwritten())}
        every = [*float_tensors(list(self.args)), *float_tensors(dict(self.kwargs))]
        return [tensor for tensor in every if id(tensor) not in gone]

    def repeated(self, wide: torch.dtype) -> list[torch.Tensor] | None:
        """Do the op again in a wider type from the same inputs; return its floating outputs.

        For float32, float16 inputs are widened; for float64, all are. None if it cannot be
        repeated: it draws random numbers, overwrites an argument, or has no such form with
        these arguments.
        """
        if not self.schema.repeatable:
            return None
        try:
            args, kwargs = _widened([list(self.args), dict(self.kwargs)], wide)
            again = self.func(*args, **kwargs)
        except (RuntimeError, TypeError, NotImplementedError):
            return None
        return list(float_tensors(again))


_NARROWER = {
    torch.float32: {torch.float16},
    torch.float64: {torch.float16, torch.bfloat16, torch.float32},
}


def _widened(value: Any, wide: torch.dtype) -> Any:
    """Replace narrower tensors and dtypes in arguments, however nested."""
    if isinstance(value, torch.Tensor):
        return value.to(wide) if value.dtype in _NARROWER[wide] else value
    if isinstance(value, torch.dtype):
        return wide if value in _NARROWER[wide] else value
    if isinstance(value, list | tuple):
        return type(value)(_widened(part, wide) for part in value)
    if isinstance(value, dict):
        return {name: _widened(part, wide) for name, part in value.items()}
    return value
