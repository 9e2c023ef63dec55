"""Arrays and tensors in and out: what is accepted, and how it reaches the kernel.

The kernel makes about twenty passes over its data, so it is fed pieces that stay in a
processor's cache; on a GPU, pieces that keep the intermediate results small.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ampcourse.formats import BF16, FP16, FP32, FP64, FloatFormat
from ampcourse.quantize.array_ops import Array, ArrayOps, is_tensor, ops_for
from ampcourse.quantize.kernel import decode_patterns, round_patterns
from ampcourse.quantize.random_integers import draw
from ampcourse.quantize.rule import Rule, Target

_CACHE_PIECE = 1 << 14
_DEVICE_PIECE = 1 << 24
#: The float dtypes that go in and come out, by their names in numpy, ml_dtypes and torch.
FLOAT_DTYPES = {"float16": FP16, "bfloat16": BF16, "float32": FP32, "float64": FP64}


def input_format(x: Array) -> FloatFormat:
    """Return the format of an array's elements: FP16, BF16, FP32 or FP64.

    Raises TypeError for anything else.
    """
    if not is_tensor(x) and not isinstance(x, (np.ndarray, np.generic)):
        raise TypeError(
            f"cannot round a {type(x).__name__}; arrays are numpy arrays or torch tensors "
            "(ampcourse.encode.encode takes single numbers)"
        )
    if is_tensor(x) and (x.layout is not sys.modules["torch"].strided or x.is_meta):
        raise TypeError(f"cannot round a {x.layout} tensor on {x.device}; give a dense one")
    name = dtype_name(x)
    found = FLOAT_DTYPES.get(name)
    if found is None:
        raise TypeError(
            f"cannot round {name} numbers; the input is {', '.join(FLOAT_DTYPES)}. Convert first, "
            "to float64 if in doubt: it holds every float and all integers up to 2^53"
        )
    return found


def dtype_name(x: Array) -> str:
    """Return the name of an array's dtype, the same in numpy and torch: "float32"."""
    return str(x.dtype).removeprefix("torch.") if is_tensor(x) else str(x.dtype.name)


def flat_view(x: Array) -> Array:
    """Return an array's elements as one dimension; the same memory where that is possible."""
    return x.detach().resolve_neg().reshape(-1) if is_tensor(x) else np.asarray(x).reshape(-1)


def round_into(out: Array, flat: Array, rule: Rule, target: Target, generator: Any) -> None:
    """Round a flat array piece by piece into another of the same kind and length.

    ``out`` takes codes as integers, or values as floats; a value that its dtype cannot hold
    raises ValueError.
    """
    ops, width = ops_for(flat), rule.work.bits
    with gradual_underflow(), np.errstate(over="ignore", invalid="ignore"):
        for here in _pieces(flat):
            numbers = ops.as_floats(flat[here], width)
            random = draw(generator, rule.random_bits, numbers, width)
            rounded = round_patterns(ops.float_bits(numbers, width), rule, target, ops, random)
            if target == "codes":
                out[here] = rounded
            else:
                values = ops.floats_of(rounded, width)
                out[here] = values
                _check_narrowed(out[here], values, flat[here], rule, ops)


def decode_into(out: Array, flat: Array, rule: Rule) -> None:
    """Decode a flat array of codes piece by piece into one of floats that hold the values."""
    ops, width = ops_for(flat), rule.work.bits
    with gradual_underflow():
        for here in _pieces(flat):
            patterns = decode_patterns(ops.as_ints(flat[here], width), rule, ops)
            out[here] = ops.floats_of(patterns, width)


def _pieces(flat: Array) -> Iterator[slice]:
    on_device = is_tensor(flat) and flat.device.type != "cpu"
    length = _DEVICE_PIECE if on_device else _CACHE_PIECE
    return (slice(start, start + length) for start in range(0, len(flat), length))


def _check_narrowed(out: Array, values: Array, numbers: Array, rule: Rule, ops: ArrayOps) -> None:
    """Raise ValueError if a rounded value changed when it went back to the input's dtype."""
    name = dtype_name(out)
    if out.dtype == values.dtype or holds(name, rule.fmt):
        return
    lost = (ops.as_floats(out, rule.work.bits) != values) & (values == values)
    if lost.any():
        number, value = float(numbers[lost][0]), float(values[lost][0])
        raise ValueError(
            f"{number!r} rounds to {value!r} in {rule.fmt.name}, which {name} cannot hold; "
            "give the numbers as float32 or float64"
        )


@cache
def holds(dtype: str, fmt: FloatFormat) -> bool:
    """Whether a dtype holds every value of a format."""
    holder = FLOAT_DTYPES[dtype]
    return (
        fmt.significand_bits <= holder.significand_bits
        and fmt.emax <= holder.emax
        and fmt.smallest >= holder.smallest
    )


@contextmanager
def gradual_underflow() -> Iterator[None]:
    """Switch the processor's flushing of subnormals off for a while, if someone switched it on.

    ``torch.set_flush_denormal(True)`` makes the whole thread, numpy included, read and write
    subnormal floats as zero.
    """
    smallest = np.array([1], np.int32).view(np.float32)
    if (smallest * np.float32(1))[0] != 0:
        yield
        return
    import torch  # nothing else that we know of switches it on

    torch.set_flush_denormal(False)
    try:
        yield
    finally:
        torch.set_flush_denormal(True)
