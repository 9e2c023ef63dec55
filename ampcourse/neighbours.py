"""The numbers next to a number, and how far away they are (IEEE 754-2019, 5.3.1)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ampcourse.decode import check_code, classify, decode
from ampcourse.formats import FloatFormat, get_format


class Neighbours(NamedTuple):
    """The codes of the next smaller and the next larger value; None where there is none."""

    below: int | None
    above: int | None


class Gaps(NamedTuple):
    """The distances to both neighbours; None where there is none or it is infinite."""

    below: Fraction | None
    above: Fraction | None


def neighbours(code: int, fmt: str | FloatFormat) -> Neighbours:
    """Return the codes of the next value below and above, as nextDown and nextUp define them.

    The two zeros are one value: both have the smallest negative and the smallest positive
    number as neighbours. Next to the smallest positive number is +0, next to the smallest
    negative one -0. The largest number has infinity above it where the format has one, and
    infinity, unlike with nextUp, has nothing beyond itself. A NaN has no neighbours. Raises as
    decode does for a code outside the format.

    >>> tuple(map(hex, neighbours(0x3C00, "fp16"))), tuple(map(hex, neighbours(0x8000, "fp16")))
    (('0x3bff', '0x3c01'), ('0x8001', '0x1'))
    >>> neighbours(0x7E, "e4m3"), neighbours(0x7C00, "fp16")
    (Neighbours(below=125, above=None), Neighbours(below=31743, above=None))
    """
    fmt = get_format(fmt)
    code = check_code(code, fmt)
    if classify(code, fmt) == "nan":
        return Neighbours(None, None)
    sign = code & fmt.sign_mask
    magnitude = code ^ sign
    outward = _outward(magnitude, fmt)
    if magnitude == 0:
        below = fmt.sign_mask | 1 if fmt.signed else None
        return Neighbours(below, outward)
    if sign:
        return Neighbours(None if outward is None else sign | outward, sign | (magnitude - 1))
    return Neighbours(magnitude - 1, outward)


def gaps(code: int, fmt: str | FloatFormat) -> Gaps:
    """Return the exact distances from a number to the next one below and above.

    >>> gaps(0x3C00, "fp16")
    Gaps(below=Fraction(1, 2048), above=Fraction(1, 1024))
    """
    fmt = get_format(fmt)
    here = decode(code, fmt).fraction
    below, above = neighbours(code, fmt)
    return Gaps(_distance(here, below, fmt), _distance(here, above, fmt))


def _outward(magnitude: int, fmt: FloatFormat) -> int | None:
    """Return the magnitude code one step away from zero, if it is a number or infinity."""
    last = fmt.largest_code + 1 if fmt.has_infinity else fmt.largest_code
    return magnitude + 1 if magnitude < last else None


def _distance(here: Fraction | None, code: int | None, fmt: FloatFormat) -> Fraction | None:
    there = None if code is None else decode(code, fmt).fraction
    return None if here is None or there is None else abs(there - here)
