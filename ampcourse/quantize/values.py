"""Rounding an array to the values of a format."""

from __future__ import annotations

from typing import Any

from ampcourse.encode import Overflow
from ampcourse.formats import FP32, FP64, FloatFormat
from ampcourse.quantize.array_ops import Array
from ampcourse.quantize.arrays import input_format, narrowed
from ampcourse.quantize.pieces import round_array
from ampcourse.quantize.rule import make_rule


def quantize(
    x: Array,
    fmt: str | FloatFormat,
    mode: str = "nearest_even",
    overflow: Overflow = None,
    subnormals: bool = True,
    *,
    random_bits: int | None = None,
    generator: Any = None,
) -> Array:
    """Round every element to the nearest value of a format, or as the mode says.

    ``x`` is a numpy array or a torch tensor on any device, of float16, bfloat16, float32 or
    float64, of any shape and strides. The result is a new one of the same kind, shape, dtype
    and device, contiguous. Each element is rounded once, to the very number that
    ``decode(encode(element, …))`` gives: mode, overflow, subnormals and stochastic rounding
    are explained at ``ampcourse.encode.encode``. A NaN keeps its sign and loses its payload.

    Formats: every one of the table and every ``ieee_like`` one.

    Stochastic rounding draws ``random_bits`` for each element, in the order of the elements.
    ``generator`` is a numpy.random.Generator or a torch.Generator, like ``x``; None means a
    new numpy generator, or torch's own.

    The result has no gradient: a step function's is zero almost everywhere. quantize_ste
    passes gradients straight through.

    Raises TypeError for anything but such arrays (integers are refused: which float should
    hold them is for the caller to say), and ValueError as encode does. It also raises
    ValueError if a result does not fit into x's dtype: 65504 in float16 rounds to 65536 in
    BF16, which float16 does not have.

    >>> x = np.array([0.1, 65519.996, 65520.0, -1e-8], np.float32)
    >>> [value.hex() for value in quantize(x, "fp16").tolist()]
    ['0x1.9980000000000p-4', '0x1.ffc0000000000p+15', 'inf', '-0x0.0p+0']
    >>> quantize(x, "e2m1", "up").tolist()
    [0.5, 6.0, 6.0, -0.0]
    """
    source = FP64 if input_format(x) is FP64 else FP32
    rule = make_rule(fmt, source, mode, overflow, subnormals, random_bits, generator is not None)
    return narrowed(round_array(x, rule, "values", generator), x, rule.fmt)
