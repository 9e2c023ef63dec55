"""Arrays and tensors in and out: what is accepted, and in which form the kernel sees it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ampcourse.formats import BF16, FP16, FP32, FP64, FloatFormat
from ampcourse.quantize.array_ops import Array, is_tensor

#: The float dtypes that go in and come out, by their names in numpy, ml_dtypes and torch.
FLOAT_DTYPES = {"float16": FP16, "bfloat16": BF16, "float32": FP32, "float64": FP64}


def input_format(x: Array) -> FloatFormat:
    """Return the format of an array's elements: FP16, BF16, FP32 or FP64.

    Raises TypeError for anything else.
    """
    check_array(x, "cannot round", "ampcourse.encode.encode takes single numbers")
    name = dtype_name(x)
    if name not in FLOAT_DTYPES:
        raise TypeError(
            f"cannot round {name} numbers; the input is {', '.join(FLOAT_DTYPES)}. Convert first, "
            "to float64 if in doubt: it holds all narrower floats and all integers up to 2^53"
        )
    return FLOAT_DTYPES[name]


def check_array(x: object, attempt: str, advice: str) -> None:
    """Raise TypeError unless it is a numpy array or scalar, or a tensor that has its elements."""
    if isinstance(x, (np.ndarray, np.generic)):
        return
    if not is_tensor(x):
        raise TypeError(
            f"{attempt} a {type(x).__name__}; arrays are numpy arrays or torch tensors ({advice})"
        )
    tensor: Any = x
    if tensor.layout is not sys.modules["torch"].strided or tensor.is_meta:
        raise TypeError(
            f"{attempt} a tensor with layout {tensor.layout} on device {tensor.device}; give a "
            "dense one that holds numbers"
        )


def dtype_name(x: Array) -> str:
    """Return the name of an array's dtype, the same in numpy and torch: "float32"."""
    return str(x.dtype).removeprefix("torch.") if is_tensor(x) else str(x.dtype.name)


@cache
def holds(dtype: str, fmt: FloatFormat) -> bool:
    """Whether a float dtype holds every value of a format.

    >>> holds("float16", FP16), holds("float16", BF16), holds("bfloat16", FP16)
    (True, False, False)
    """
    holder = FLOAT_DTYPES[dtype]
    return (
        fmt.significand_bits <= holder.significand_bits
        and fmt.emax <= holder.emax
        and fmt.smallest >= holder.smallest
    )


def flat_view(x: Array) -> Array:
    """Return an array in one dimension, as numpy's where the processor's memory holds it.

    One pass over a piece costs numpy about half of what it costs torch on one thread. The
    memory stays the same where that is possible.
    """
    if not is_tensor(x):
        return np.asarray(x).reshape(-1)
    flat = x.detach().resolve_neg().reshape(-1)
    if flat.device.type != "cpu":
        return flat
    if dtype_name(flat) == "bfloat16":
        flat = flat.float()  # exact; numpy knows no bfloat16
    return flat.numpy()


def new_like(x: Array, dtype: str) -> Array:
    """Return an array of this one's kind, shape and device that holds nothing yet."""
    if is_tensor(x):
        return x.new_empty(x.shape, dtype=getattr(sys.modules["torch"], dtype))
    return np.empty(x.shape, dtype)


def shaped_like(x: Array, flat: Array) -> Array:
    """Return a flat array in the kind and shape of x: the way back from flat_view."""
    if is_tensor(x) and not is_tensor(flat):
        flat = sys.modules["torch"].from_numpy(flat)
    shaped = flat.reshape(x.shape)
    return shaped[()] if isinstance(x, np.generic) else shaped


def narrowed(values: Array, x: Array, fmt: FloatFormat) -> Array:
    """Return rounded values in x's dtype; raise ValueError if that would change one."""
    if values.dtype == x.dtype:
        return values
    narrow = cast(values, x.dtype)
    if not holds(dtype_name(x), fmt):
        with gradual_underflow():
            lost = (cast(narrow, values.dtype) != values) & (values == values)
        if lost.any():
            number, value = (float(flat_view(a)[flat_view(lost)][0]) for a in (x, values))
            raise ValueError(
                f"{number!r} rounds to {value!r} in {fmt.name}, which {dtype_name(x)} does not "
                "have; give the numbers as float32 or float64"
            )
    return narrow


def cast(x: Array, dtype: Any) -> Array:
    """Convert an array to a dtype of its library that holds its numbers."""
    with gradual_underflow(), np.errstate(all="ignore"):
        if not is_tensor(x):
            return x.astype(dtype)
        torch: Any = sys.modules["torch"]
        if dtype is not torch.bfloat16:
            return x.to(dtype)
        # torch loses the sign of a NaN on the way to bfloat16, which is the upper half of
        # float32; nothing is lost with the lower half of a number that bfloat16 holds.
        return (x.float().view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


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
    import torch  # it can switch the mode off, whoever switched it on

    torch.set_flush_denormal(False)
    try:
        yield
    finally:
        torch.set_flush_denormal(True)
