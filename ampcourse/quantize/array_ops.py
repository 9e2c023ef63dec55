"""The few array operations of the kernel, in numpy and in torch.

The kernel itself is written once. What both libraries spell alike (``&``, ``|``, ``+``, ``*``,
``>>``, comparisons, indexing) it uses directly; the rest is here. Integers are int32 beside
float32 and int64 beside float64.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Protocol

import numpy as np

#: A numpy array or a torch tensor; within one call all are of the same kind.
Array = Any


class ArrayOps(Protocol):
    """What the kernel asks of an array library; ``width`` is 32 or 64."""

    def as_ints(self, array: Array, width: int) -> Array:
        """Convert whole numbers to integers."""

    def as_floats(self, array: Array, width: int) -> Array:
        """Convert integers that a float of this width holds."""

    def float_bits(self, array: Array, width: int) -> Array:
        """Look at floats as signed integers, without copying."""

    def floats_of(self, bits: Array, width: int) -> Array:
        """Look at signed integers as floats, without copying."""

    def floor(self, array: Array) -> Array:
        """Round down to whole numbers."""

    def ceil(self, array: Array) -> Array:
        """Round up to whole numbers."""

    def at_least(self, array: Array, limit: int) -> Array:
        """Take the larger of each element and a limit."""

    def at_most(self, array: Array, limit: int) -> Array:
        """Take the smaller of each element and a limit."""

    def choose(self, condition: Array, yes: int | Array, no: Array) -> Array:
        """Take ``yes`` where the condition holds and ``no`` elsewhere."""


class NumpyOps:
    """The operations in numpy."""

    def as_ints(self, array: Array, width: int) -> Array:
        return array.astype(_INTS[width])

    def as_floats(self, array: Array, width: int) -> Array:
        return array.astype(_FLOATS[width], copy=False)

    def float_bits(self, array: Array, width: int) -> Array:
        return array.view(_INTS[width])

    def floats_of(self, bits: Array, width: int) -> Array:
        return bits.view(_FLOATS[width])

    def floor(self, array: Array) -> Array:
        return np.floor(array)

    def ceil(self, array: Array) -> Array:
        return np.ceil(array)

    def at_least(self, array: Array, limit: int) -> Array:
        return np.maximum(array, limit)

    def at_most(self, array: Array, limit: int) -> Array:
        return np.minimum(array, limit)

    def choose(self, condition: Array, yes: int | Array, no: Array) -> Array:
        return np.where(condition, np.asarray(yes, no.dtype), no)


class TorchOps:
    """The operations in torch, on whatever device the tensors are."""

    def __init__(self) -> None:
        import torch

        self.ints = {32: torch.int32, 64: torch.int64}
        self.floats = {32: torch.float32, 64: torch.float64}
        self.floor = torch.floor
        self.ceil = torch.ceil
        self.choose = torch.where

    def as_ints(self, array: Array, width: int) -> Array:
        return array.to(self.ints[width])

    def as_floats(self, array: Array, width: int) -> Array:
        return array.to(self.floats[width])

    def float_bits(self, array: Array, width: int) -> Array:
        return array.view(self.ints[width])

    def floats_of(self, bits: Array, width: int) -> Array:
        return bits.view(self.floats[width])

    def at_least(self, array: Array, limit: int) -> Array:
        return array.clamp(min=limit)

    def at_most(self, array: Array, limit: int) -> Array:
        return array.clamp(max=limit)


_INTS = {32: np.int32, 64: np.int64}
_FLOATS = {32: np.float32, 64: np.float64}


def is_tensor(x: object) -> bool:
    """Whether something is a torch tensor; never loads torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def ops_for(array: Array) -> ArrayOps:
    """Return the operations for an array's kind."""
    return _torch_ops() if is_tensor(array) else _NUMPY_OPS


@cache
def _torch_ops() -> TorchOps:
    return TorchOps()


_NUMPY_OPS = NumpyOps()
