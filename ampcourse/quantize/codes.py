"""From arrays to codes and back."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from ampcourse.encode import Overflow
from ampcourse.formats import FP32, FP64, FloatFormat, get_format
from ampcourse.quantize.array_ops import Array, is_tensor
from ampcourse.quantize.arrays import (
    FLOAT_DTYPES,
    cast,
    check_array,
    dtype_name,
    flat_view,
    holds,
    input_format,
    shaped_like,
)
from ampcourse.quantize.pieces import decode_flat, look_up, round_array
from ampcourse.quantize.rule import make_rule

#: Codes up to this width are looked up; a table of all values of a wider format is too long.
_TABLE_BITS = 16
_INTEGERS = {f"{kind}{width}": width for kind in ("int", "uint") for width in (8, 16, 32, 64)}


def encode_array(
    x: Array,
    fmt: str | FloatFormat,
    mode: str = "nearest_even",
    overflow: Overflow = None,
    subnormals: bool = True,
    *,
    random_bits: int | None = None,
    generator: Any = None,
) -> Array:
    """Round every element to a format and return the codes.

    Arguments and errors are those of ``quantize``, without its last error: codes always fit.
    The codes come in the smallest unsigned dtype, uint8, uint16, uint32 or uint64, for torch
    too: ``codes.view(torch.float16)`` is the tensor that FP16 codes stand for. (torch does
    little arithmetic on unsigned types wider than 8 bits; ``codes.long()`` is for that.)

    >>> [hex(code) for code in encode_array(np.array([1.0, -0.1, 1e9]), "fp16").tolist()]
    ['0x3c00', '0xae66', '0x7c00']
    """
    source = FP64 if input_format(x) is FP64 else FP32
    rule = make_rule(fmt, source, mode, overflow, subnormals, random_bits, generator is not None)
    return round_array(x, rule, "codes", generator)


def decode_array(codes: Array, fmt: str | FloatFormat, dtype: Any = None) -> Array:
    """Return the values of an array of codes.

    ``codes`` is a numpy array or a torch tensor of any integer dtype; the result is a new one
    of the same kind, shape and device. ``dtype`` is the float dtype of the result, one that
    holds every value of the format; by default float32 if it does, else float64. NaN codes
    give a NaN with the code's sign, as ``ampcourse.decode.decode`` does.

    Raises TypeError for codes that are no integers, and ValueError for an unknown format, a
    code the format does not have or a dtype that does not hold its values.

    >>> decode_array(np.array([0x00, 0x01, 0x7E, 0xFF], np.uint8), "e4m3").tolist()
    [0.0, 0.001953125, 448.0, nan]
    """
    fmt = get_format(fmt)
    name = _value_dtype(dtype, fmt)
    _check_codes(codes, fmt)
    values = shaped_like(codes, _decode(flat_view(codes), fmt))
    library_dtype = getattr(sys.modules["torch"], name) if is_tensor(codes) else _numpy_dtype(name)
    return cast(values, library_dtype)


def _decode(codes: Array, fmt: FloatFormat) -> Array:
    """Decode flat codes: numpy's through a table of all values where the format is narrow."""
    if fmt.bits <= _TABLE_BITS and not is_tensor(codes):
        return look_up(codes, _table(fmt))
    return _calculate(codes, fmt)


@lru_cache(maxsize=32)
def _table(fmt: FloatFormat) -> Array:
    return _calculate(np.arange(1 << fmt.bits), fmt)


def _calculate(codes: Array, fmt: FloatFormat) -> Array:
    return decode_flat(codes, make_rule(fmt, FP32, "toward_zero", None, True, None, False))


def _check_codes(codes: Array, fmt: FloatFormat) -> None:
    """Raise TypeError for what is no array of integers, ValueError for a code out of range."""
    check_array(codes, "cannot decode", "ampcourse.decode.decode takes single codes")
    width = _INTEGERS.get(dtype_name(codes))
    if width is None:
        raise TypeError(f"codes are integers, not {dtype_name(codes)}; encode_array makes codes")
    signed = not dtype_name(codes).startswith("u")
    if 0 in codes.shape or (width <= fmt.bits and not signed):
        return
    wide = codes.long() if is_tensor(codes) else codes
    for code in (int(wide.min()), int(wide.max())):
        if not 0 <= code < 1 << fmt.bits:
            legal = f"{fmt.name} has codes 0 to {(1 << fmt.bits) - 1:#x}"
            raise ValueError(f"code {code:#x} is out of range; {legal}")


def _value_dtype(dtype: Any, fmt: FloatFormat) -> str:
    """Return the name of the result's dtype; raise ValueError if it cannot hold the values."""
    if dtype is None:
        return "float32" if holds("float32", fmt) else "float64"
    name = str(dtype).removeprefix("torch.")
    if name not in FLOAT_DTYPES:
        name = np.dtype(dtype).name
    if name not in FLOAT_DTYPES or not holds(name, fmt):
        able = ", ".join(known for known in FLOAT_DTYPES if holds(known, fmt))
        raise ValueError(f"{name} does not hold every value of {fmt.name}; these do: {able}")
    return name


def _numpy_dtype(name: str) -> Any:
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return ml_dtypes.bfloat16
