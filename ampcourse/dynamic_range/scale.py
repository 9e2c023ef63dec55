"""How far values can be scaled up before the largest of them overflows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ampcourse.dynamic_range.boundaries import boundaries
from ampcourse.dynamic_range.histogram import ExponentHistogram, exponent_histogram
from ampcourse.dynamic_range.report import check_scale
from ampcourse.formats import FloatFormat, power_of_two
from ampcourse.rounding import floor_log2

if TYPE_CHECKING:
    from ampcourse.dynamic_range.values import Values

#: Exponents of the powers of two that a float holds.
_SMALLEST, _LARGEST = -1074, 1023


def headroom(
    x: Values | ExponentHistogram,
    fmt: str | FloatFormat = "fp16",
    scale: float = 1.0,
    mode: str = "nearest_even",
) -> int:
    """Return how often the scaled values can be doubled before the largest overflows.

    Negative if it overflows already. Exact for values and for histograms, which carry their
    largest magnitude; what a sample did not see it cannot tell (GradientRecorder's
    ``all_largest``). Infinities and NaN are left out, since no scale brings them back. Raises
    ValueError if no finite value differs from zero.

    >>> headroom([1.0], "fp16"), headroom([1.9999], "fp16"), headroom([65520.0], "fp16")
    (15, 14, -1)
    """
    histogram = x if isinstance(x, ExponentHistogram) else exponent_histogram(x)
    if not histogram.largest:
        raise ValueError("no finite value differs from zero, so no scale is better than another")
    edge = boundaries(fmt, mode).overflow
    largest = Fraction(histogram.largest) * check_scale(scale)
    bits = floor_log2(edge.value / largest)
    return bits - 1 if edge.reached_by(largest * power_of_two(bits)) else bits


def best_power_of_two_scale(
    x: Values | ExponentHistogram,
    fmt: str | FloatFormat = "fp16",
    headroom_bits: int = 0,
    mode: str = "nearest_even",
) -> float:
    """Return the largest power of two by which x can be multiplied without an overflow.

    ``headroom_bits`` doublings are kept free for values that are larger next time. Only the
    largest value limits the scale: whether it is enough for the smallest, range_report says.
    Raises as headroom does.

    >>> best_power_of_two_scale([1e-3, 0.75]), best_power_of_two_scale([0.75], headroom_bits=2)
    (65536.0, 16384.0)
    """
    exponent = headroom(x, fmt, mode=mode) - headroom_bits
    return float(power_of_two(min(max(exponent, _SMALLEST), _LARGEST)))
