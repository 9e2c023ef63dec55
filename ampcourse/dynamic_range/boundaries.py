"""Where the result of a rounding changes its class: zero, subnormal, normal, overflow.

A rounding never reverses the order of two numbers, so the values of each class are one run of
magnitudes, and three boundaries say everything. They are worked out from the scalar
reference, hence hold for every format and every deterministic mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import FloatFormat, get_format, power_of_two
from ampcourse.rounding import check_mode, round_to_precision


@dataclass(frozen=True)
class Boundary:
    """The first magnitude of a class, or the last one below it.

    ``included`` says whether the value itself belongs to the upper class.
    """

    value: Fraction
    included: bool

    def scaled(self, factor: Fraction) -> Boundary:
        """Return the boundary for values that are multiplied by ``factor`` before rounding."""
        return Boundary(self.value / factor, self.included)

    def reached_by(self, magnitude: Fraction) -> bool:
        """Whether a magnitude belongs to the upper class."""
        return magnitude >= self.value if self.included else magnitude > self.value

    def first_in(self, fmt: FloatFormat) -> float:
        """Return the smallest number of a format that belongs to the upper class, else infinity.

        The format is an IEEE one, whose positive codes are in the order of their values.
        """
        if self.included:
            return decode(encode(self.value, fmt, "up"), fmt).value
        return decode(encode(self.value, fmt, "toward_zero") + 1, fmt).value


@dataclass(frozen=True)
class Boundaries:
    """The magnitudes from which a rounded result is no longer zero, normal, or too large."""

    nonzero: Boundary
    normal: Boundary
    overflow: Boundary

    def scaled(self, factor: Fraction) -> Boundaries:
        """Return the boundaries for values that are multiplied by ``factor`` before rounding."""
        return Boundaries(
            self.nonzero.scaled(factor), self.normal.scaled(factor), self.overflow.scaled(factor)
        )


def boundaries(
    fmt: str | FloatFormat, mode: str = "nearest_even", negative: bool = False
) -> Boundaries:
    """Return where numbers of one sign change class when they are rounded to a format.

    Overflow is IEEE 754-2019, 7.4: the number, rounded with no largest exponent, exceeds the
    format's largest. Modes are those of ampcourse.rounding.MODES; "up" and "down" differ
    between the signs. Raises ValueError for E8M0, which has no zero and no sign, and for
    unknown names.

    >>> fp16 = boundaries("fp16")
    >>> fp16.nonzero == Boundary(Fraction(1, 2**25), included=False)
    True
    >>> fp16.overflow, boundaries("e4m3").overflow.included
    (Boundary(value=Fraction(65520, 1), included=True), False)
    """
    fmt = get_format(fmt)
    check_mode(mode)
    if not fmt.has_zero:
        raise ValueError(
            f"{fmt.name} has no zero, so nothing is flushed to it; it is a format of scales: "
            "ask about the format of the scaled values"
        )
    smallest = fmt.smallest
    ulp_of_largest = power_of_two(fmt.emax - fmt.significand_bits)
    steps = (
        (Fraction(0), smallest),
        (fmt.smallest_normal - smallest, fmt.smallest_normal),
        (fmt.max, fmt.max + ulp_of_largest),
    )
    return Boundaries(*(_between(low, high, fmt, mode, negative) for low, high in steps))


def _between(
    low: Fraction, high: Fraction, fmt: FloatFormat, mode: str, negative: bool
) -> Boundary:
    """Return where rounding goes over from one number of the format to the next one.

    The four points tell all modes apart: a mode looks only at the two ends and at the middle.
    """
    sign = -1 if negative else 1

    def goes_up(quarters: int) -> bool:
        x = low + (high - low) * Fraction(quarters, 4)
        return abs(round_to_precision(sign * x, fmt.precision, mode, fmt.emin)) >= high

    if goes_up(1):
        return Boundary(low, included=False)
    middle = (low + high) / 2
    if goes_up(2):
        return Boundary(middle, included=True)
    return Boundary(middle, included=False) if goes_up(3) else Boundary(high, included=True)
