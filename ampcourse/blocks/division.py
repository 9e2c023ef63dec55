"""Division that can be followed by one more rounding without harm."""

from __future__ import annotations

from typing import Any

from ampcourse.blocks.layout import library

# Three parts of at most 18 bits each make up a float64 significand of 53.
_LOW_BITS = 53 - 18


def divide_to_odd(x: Any, divisor: Any) -> Any:
    """Return x / divisor rounded to odd in float64, so that rounding it again is right.

    x is float64, the divisor positive with at most 28 significant bits, such as an FP32 scale
    times an E4M3 scale. An ordinary quotient can be rounded onto the midpoint of two elements
    and then to the wrong side; one rounded to odd cannot (Boldo and Melquiond 2008, as in
    ampcourse.rounding). Infinities and NaN come out as they would from x / divisor.
    """
    xp = library(x)
    quotient = x / divisor
    rest, remainder = quotient, x
    for _ in range(3):  # parts of 18 bits times 28 bits are exact, and so are the differences
        part = _floats(_bits(rest) & -(1 << _LOW_BITS))
        rest = rest - part
        remainder = remainder - part * divisor
    inexact = (remainder != 0) & xp.isfinite(remainder)
    too_far = inexact & ((remainder < 0) != (x < 0))
    bits = _bits(quotient) - xp.where(too_far, 1, 0)
    return _floats(xp.where(inexact, bits | 1, bits))


def _bits(x: Any) -> Any:
    return x.view(library(x).int64)


def _floats(bits: Any) -> Any:
    return bits.view(library(bits).float64)
