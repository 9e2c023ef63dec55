"""What the papers say of each configuration, written down a second time, and one call.

The tests derive their expected sums by hand from the numbers that `limits` gives, and ask both
twins, which must agree bit for bit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from ampcourse.tensor_core import CONFIGURATIONS, Configuration, dot_product, mma

_FP16 = {"V100": (4, 23), "T4": (8, 24), "A100": (8, 24), "A2": (8, 24), "Ada": (8, 24)}
_FP16 |= {"L40S": (8, 24), "H100": (16, 25), "H200": (16, 25), "B200": (16, 25)}
_FP8 = {"Ada": (16, 13), "L40S": (16, 13), "H100": (32, 13), "H200": (32, 13), "B200": (32, 25)}
#: The exponent of zero by F of the GPU's FP16 unit, for fp32 and fp16 output.
_ZERO = {23: (-131, -19), 24: (-132, -20), 25: (-133, -21)}


def limits(rule: Configuration) -> tuple[int, int, int]:
    """Return L, F and the exponent of zero that the papers give."""
    length, bits = _FP16[rule.gpu]
    zero = _ZERO[bits][rule.output_format == "fp16"]
    if rule.input_format == "tf32":
        length //= 2
    if rule.input_format in ("e4m3", "e5m2") and not rule.emulated:
        length, bits = _FP8[rule.gpu]
    return length, bits, zero


def label(rule: Configuration) -> str:
    return f"{rule.gpu}-{rule.input_format}-{rule.output_format}-{rule.instruction}"


def each(
    inputs: str = "", output: str = "", emulated: bool = False, narrow: bool | None = None
) -> pytest.MarkDecorator:
    """Parametrise over the configurations with these formats (all if empty).

    Records that are equal but for names and evidence (A2 and A100, say) are asked about once.
    """
    rules: dict[object, Configuration] = {}
    for rule in CONFIGURATIONS:
        if (
            rule.emulated == emulated
            and rule.input_format in (inputs.split() or [rule.input_format])
            and rule.output_format == (output or rule.output_format)
            and narrow in (None, limits(rule)[1] == 13)
        ):
            nameless = replace(rule, gpu="", generation="", instruction="mma.sync", evidence="")
            rules.setdefault((nameless, limits(rule)), rule)
    assert rules
    return pytest.mark.parametrize("rule", list(rules.values()), ids=label)


#: Products by k: a pair of factors, or one number for the product of it and 1.
Products = Mapping[int, float | tuple[float, float]] | Sequence[float | tuple[float, float]]


def total(rule: Configuration, products: Products, c: float = 0.0, length: int = 0) -> float:
    """Return what both twins give for products at some places k, zero elsewhere, and C."""
    places = dict(products if isinstance(products, Mapping) else enumerate(products))
    length = length or max(places, default=0) + 1
    pairs = [places.get(k, (0.0, 0.0)) for k in range(length)]
    pairs = [pair if isinstance(pair, tuple) else (pair, 1.0) for pair in pairs]
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    how = (rule.gpu, rule.input_format, rule.output_format, rule.instruction)
    scalar, vector = dot_product(a, b, c, *how), mma(a, b, c, *how)
    if math.isnan(scalar):
        nan = 0x7FFFFFFF if rule.output_format == "fp32" else 0x7FFFE000
        assert vector.view("uint32") == nan
    else:
        assert vector.tobytes() == struct.pack("=f", scalar), (vector, scalar)
    return scalar


def split(value: float) -> tuple[float, float]:
    """Write a power of two, perhaps times a small whole number, as two factors of like size."""
    significand, exponent = math.frexp(value)
    half = exponent // 2
    return math.ldexp(significand, exponent - half), 2.0**half
