"""Feeding the kernel piece by piece.

The kernel makes about twenty passes over its data. A piece of a large array stays in the
processor's cache meanwhile; on a GPU, pieces keep the intermediate results small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ampcourse.formats import FloatFormat
from ampcourse.quantize.array_ops import Array, is_tensor, ops_for
from ampcourse.quantize.arrays import (
    dtype_name,
    flat_view,
    gradual_underflow,
    holds,
    new_like,
    shaped_like,
)
from ampcourse.quantize.decoding import decode_patterns
from ampcourse.quantize.kernel import round_patterns
from ampcourse.quantize.random_integers import integer_source
from ampcourse.quantize.rule import Rule, Target

_CACHE_PIECE = 1 << 16
_DEVICE_PIECE = 1 << 24


def round_array(x: Array, rule: Rule, target: Target, generator: Any) -> Array:
    """Return a new array of x's kind, shape and device with its elements rounded.

    Codes come in the smallest unsigned dtype; values in a float dtype that holds them, x's own
    or a wider one.
    """
    flat = flat_view(x)
    draw = integer_source(x, rule.random_bits, generator)
    out = new_like(flat, _result_dtype(flat, rule, target))
    ops, width = ops_for(flat), rule.work.bits
    with gradual_underflow(), np.errstate(all="ignore"):
        for here in _pieces(flat):
            bits = ops.float_bits(ops.as_floats(flat[here], width), width)
            rounded = round_patterns(bits, rule, target, ops, draw(len(bits), width))
            out[here] = rounded if target == "codes" else ops.floats_of(rounded, width)
    return shaped_like(x, out)


def decode_flat(codes: Array, rule: Rule) -> Array:
    """Return a new array of the values of a flat array of codes, in the working dtype."""
    ops, width = ops_for(codes), rule.work.bits
    values = new_like(codes, f"float{width}")
    with gradual_underflow():
        for here in _pieces(codes):
            patterns = decode_patterns(ops.as_ints(codes[here], width), rule, ops)
            values[here] = ops.floats_of(patterns, width)
    return values


def look_up(codes: Array, table: Array) -> Array:
    """Return a new array of a table's entries for a flat numpy array of indices into it."""
    values = np.empty(codes.shape, table.dtype)
    for here in _pieces(codes):
        # All indices are known to be right; "clip" spares numpy a copy to undo mistakes with.
        np.take(table, codes[here], out=values[here], mode="clip")
    return values


def _result_dtype(flat: Array, rule: Rule, target: Target) -> str:
    if target == "codes":
        return code_dtype(rule.fmt)
    narrow = dtype_name(flat)
    # Half-width types are narrowed at the end, all at once.
    keep = narrow in ("float32", "float64") and holds(narrow, rule.fmt)
    return narrow if keep else f"float{rule.work.bits}"


def code_dtype(fmt: FloatFormat) -> str:
    """Return the name of the smallest unsigned dtype that holds a format's codes."""
    return f"uint{next(width for width in (8, 16, 32, 64) if width >= fmt.bits)}"


def _pieces(flat: Array) -> Iterator[slice]:
    length = _DEVICE_PIECE if is_tensor(flat) else _CACHE_PIECE
    return (slice(start, start + length) for start in range(0, len(flat), length))
