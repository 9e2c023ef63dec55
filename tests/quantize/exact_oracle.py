"""A second vector rounding, as plain as can be: exponents by frexp, modes by numpy's own.

It shares no line and no trick with the kernel: numbers are taken apart by ``numpy.frexp``,
scaled by ``numpy.ldexp`` (exact, since nothing here leaves float64's normal range) and rounded
to integers by ``rint``, ``floor``, ``ceil`` and ``trunc``, with their signs on. The tests hold
it to the scalar reference on samples, and it carries the comparison to millions of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ampcourse.encode import Overflow
from ampcourse.formats import FloatFormat
from tests.quantize.points import Floats


def rounded(
    x: Floats,
    fmt: FloatFormat,
    mode: str = "nearest_even",
    overflow: Overflow = None,
    subnormals: bool = True,
) -> Floats:
    """Round float32 or float64 numbers to a format; a float64 array comes out."""
    with np.errstate(all="ignore"):
        x = x.astype(np.float64)
        negative = np.signbit(x)
        _, exponent = np.frexp(x)
        lsb = np.maximum(exponent - 1, fmt.emin) - fmt.significand_bits
        result = np.ldexp(to_integers(np.ldexp(x, -lsb), mode), lsb)
        largest = float(fmt.max)
        if not subnormals and fmt.has_subnormals:
            result[np.abs(result) < float(fmt.smallest_normal)] = 0
        if not fmt.has_subnormals:
            result = np.maximum(result, float(fmt.smallest))
        too_large = np.abs(result) > largest
    outward = np.isin(mode, ["nearest_even", "nearest_away"]) | (
        negative if mode == "down" else ~negative & (mode == "up")
    )
    if overflow is not None:
        outward = np.full_like(negative, overflow == "infinity")
    beyond = np.inf if fmt.has_infinity else np.nan if fmt.has_nan else largest
    result = np.where(too_large, np.where(outward, beyond, largest), result)
    infinite = largest if overflow == "saturate" else beyond
    result = np.where(np.isinf(x), infinite, result)
    result = np.where(np.isnan(x), np.nan, result)
    if not fmt.signed:
        invalid = float(fmt.smallest) if overflow == "saturate" else np.nan
        result = np.where((x <= 0) & ~np.isnan(x), invalid, result)
        return np.copysign(result, 1.0)
    return np.copysign(result, np.where(negative, -1.0, 1.0))


def to_integers(x: Any, mode: str) -> Any:
    """Round float64 numbers to integers."""
    if mode == "nearest_even":
        return np.rint(x)
    if mode == "nearest_away":
        whole = np.trunc(x)
        return whole + np.copysign(np.abs(x - whole) >= 0.5, x)
    if mode == "to_odd":
        below, above = np.floor(x), np.ceil(x)
        return np.where(below % 2 == 1, below, above) * (below != above) + x * (below == above)
    return {"toward_zero": np.trunc, "up": np.ceil, "down": np.floor}[mode](x)
