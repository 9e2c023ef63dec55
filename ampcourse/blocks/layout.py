"""Cutting an array into blocks along an axis, and putting it together again.

Written once for numpy and torch: both are called by the same names here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ampcourse.blocks.schemes import BlockScheme

if TYPE_CHECKING:
    import torch

    Array = np.ndarray | torch.Tensor


def library(x: Any) -> Any:
    """Return the module, numpy or torch, that x belongs to; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else np


def _place(x: Any) -> dict[str, Any]:
    return {} if isinstance(x, np.ndarray) else {"device": x.device}


@dataclass(frozen=True)
class Layout:
    """The shape of an array and how it is cut: ``count`` blocks of ``block`` along ``axis``.

    The last block is filled up with zeros where ``length`` is no multiple of ``block``.
    Without an axis the whole array is one block.
    """

    shape: tuple[int, ...]
    axis: int | None
    block: int
    length: int
    count: int

    def split(self, x: Any) -> Any:
        """Return x with its blocks last: (..., count, block)."""
        if self.axis is None:
            return x.reshape(1, -1)
        xp = library(x)
        x = xp.moveaxis(x, self.axis, -1)
        missing = self.count * self.block - self.length
        if missing:
            whole = xp.zeros((*x.shape[:-1], self.count * self.block), dtype=x.dtype, **_place(x))
            whole[..., : self.length] = x
            x = whole
        return x.reshape(*x.shape[:-1], self.count, self.block)

    def join(self, blocks: Any) -> Any:
        """Undo split; what had been filled up is dropped."""
        if self.axis is None:
            return blocks.reshape(self.shape)
        flat = blocks.reshape(*blocks.shape[:-2], self.count * self.block)
        return library(flat).moveaxis(flat[..., : self.length], -1, self.axis)

    def per_block(self, values: Any) -> Any:
        """Return one value per block, (..., count), with the count where the axis was."""
        if self.axis is None:
            return values.reshape(())
        return library(values).moveaxis(values, -1, self.axis)

    def across(self, values: Any) -> Any:
        """Undo per_block, with a last axis of one that stretches over the block."""
        if self.axis is None:
            return values.reshape(1, 1)
        return library(values).moveaxis(values, self.axis, -1)[..., None]


def make_layout(shape: tuple[int, ...], scheme: BlockScheme, axis: int, partial: str) -> Layout:
    """Return how an array of a shape is cut.

    Raises ValueError for an axis that the array does not have, and where the blocks do not
    fill the axis and ``partial`` is "error".
    """
    if scheme.block is None:
        return Layout(shape, None, 1, 1, 1)
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis = {axis} is none of an array of shape {shape}")
    length = shape[axis]
    count = -(-length // scheme.block)
    if length % scheme.block and partial == "error":
        raise ValueError(
            f"axis {axis} of shape {shape} has {length} values, no multiple of {scheme.name}'s "
            f"block of {scheme.block}; partial='pad' fills the last block up with zeros"
        )
    return Layout(shape, axis % len(shape), scheme.block, length, count)
