"""Bit patterns as signed integers, and choosing among them without looking.

Where a condition holds, a mask is all ones, that is -1, and elsewhere 0. Choosing with masks
takes the same time whatever the data; np.where and torch.where take several times as long on
conditions that a processor cannot foresee.
"""

from __future__ import annotations

from ampcourse.formats import FloatFormat
from ampcourse.quantize.array_ops import Array


def above(magnitude: Array, limit: int, work: FloatFormat) -> Array:
    """Mask the magnitudes over a limit: the sign of the difference, spread over all bits."""
    return (limit - magnitude) >> (work.bits - 1)


def negative(bits: Array, work: FloatFormat) -> Array:
    """Mask the numbers with a sign bit."""
    return bits >> (work.bits - 1)


def choose(mask: Array, yes: Array | int, no: Array | int) -> Array:
    """Take ``yes`` under the mask and ``no`` elsewhere."""
    return ((no ^ yes) & mask) ^ no


def wrap(pattern: int, work: FloatFormat) -> int:
    """Return the signed integer with these bits, as a library of signed integers wants it."""
    return pattern - (1 << work.bits) if pattern & work.sign_mask else pattern
