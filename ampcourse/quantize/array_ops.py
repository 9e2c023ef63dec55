"""The few array operations that the kernel needs, for numpy and for torch.

The kernel is written once. What both libraries spell alike (``&``, ``+``, ``>>``, ``max``,
``any``) it uses directly; the rest is here. Integers are int32 beside float32 and int64 beside
float64, so a ``width`` of 32 or 64 names both.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Protocol

import numpy as np

#: A numpy array or a torch tensor; within one call all are of the same kind.
Array = Any

_INTS = {32: np.int32, 64: np.int64}
_FLOATS = {32: np.float32, 64: np.float64}


class ArrayOps(Protocol):
    """What is asked of an array library."""

    def as_ints(self, array: Array, width: int) -> Array:
        """Convert whole numbers to integers of this width; not necessarily a copy."""

    def as_floats(self, array: Array, width: int) -> Array:
        """Convert numbers that a float of this width holds; not necessarily a copy."""

    def float_bits(self, array: Array, width: int) -> Array:
        """Look at floats as signed integers, without copying."""

    def floats_of(self, bits: Array, width: int) -> Array:
        """Look at signed integers as floats, without copying."""

    def nearest_even(self, array: Array) -> Array:
        """Round to whole numbers, ties to even."""

    def floor(self, array: Array) -> Array:
        """Round down to whole numbers."""

    def ceil(self, array: Array) -> Array:
        """Round up to whole numbers."""

    def at_least(self, array: Array, limit: int) -> Array:
        """Take the larger of each element and a limit."""

    def at_most(self, array: Array, limit: int) -> Array:
        """Take the smaller of each element and a limit."""


class NumpyOps:
    """The operations for numpy arrays."""

    def as_ints(self, array: Array, width: int) -> Array:
        return array.astype(_INTS[width], copy=False)

    def as_floats(self, array: Array, width: int) -> Array:
        return array.astype(_FLOATS[width], copy=False)

    def float_bits(self, array: Array, width: int) -> Array:
        return array.view(_INTS[width])

    def floats_of(self, bits: Array, width: int) -> Array:
        return bits.view(_FLOATS[width])

    def nearest_even(self, array: Array) -> Array:
        return np.rint(array)

    def floor(self, array: Array) -> Array:
        return np.floor(array)

    def ceil(self, array: Array) -> Array:
        return np.ceil(array)

    def at_least(self, array: Array, limit: int) -> Array:
        # np.maximum takes twice as long on integers.
        return np.clip(array, limit, np.iinfo(array.dtype).max)

    def at_most(self, array: Array, limit: int) -> Array:
        return np.clip(array, np.iinfo(array.dtype).min, limit)


class TorchOps:
    """The operations in torch itself, for tensors on any device."""

    def as_ints(self, array: Array, width: int) -> Array:
        return array.to(_torch_dtype("int", width))

    def as_floats(self, array: Array, width: int) -> Array:
        return array.to(_torch_dtype("float", width))

    def float_bits(self, array: Array, width: int) -> Array:
        return array.view(_torch_dtype("int", width))

    def floats_of(self, bits: Array, width: int) -> Array:
        return bits.view(_torch_dtype("float", width))

    def nearest_even(self, array: Array) -> Array:
        return array.round()

    def floor(self, array: Array) -> Array:
        return array.floor()

    def ceil(self, array: Array) -> Array:
        return array.ceil()

    def at_least(self, array: Array, limit: int) -> Array:
        return array.clamp(min=limit)

    def at_most(self, array: Array, limit: int) -> Array:
        return array.clamp(max=limit)


def is_tensor(x: object) -> bool:
    """Whether something is a torch tensor; never loads torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def ops_for(array: Array) -> ArrayOps:
    """Return the operations for an array's kind."""
    return _TORCH if is_tensor(array) else _NUMPY


@cache
def _torch_dtype(kind: str, width: int) -> Any:
    return getattr(sys.modules["torch"], f"{kind}{width}")


_NUMPY, _TORCH = NumpyOps(), TorchOps()
