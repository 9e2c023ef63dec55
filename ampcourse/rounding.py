"""Rounding as a scalar reference: exact fractions in, exact fractions out.

Written to be read. A number is divided by its quantum (the weight of the last bit that the
precision keeps), the quotient is rounded to an integer, and the quantum is multiplied back.
The mode decides only the middle step.
"""

from __future__ import annotations

from difflib import get_close_matches
from fractions import Fraction

from ampcourse.formats import power_of_two

#: The rounding modes. The first five are IEEE 754-2019's rounding-direction attributes
#: (4.3.1 and 4.3.2): roundTiesToEven, roundTiesToAway, roundTowardZero, roundTowardPositive,
#: roundTowardNegative. "to_odd" is not in the standard's list; it keeps a sign of inexactness
#: in the last bit, so that a second rounding to at least two bits fewer is right (Boldo and
#: Melquiond, Emulation of a FMA and correctly rounded sums: proved algorithms using rounding
#: to odd, IEEE Transactions on Computers 57(4), 2008).
MODES = ("nearest_even", "nearest_away", "toward_zero", "up", "down", "to_odd")


def round_to_integer(x: Fraction, mode: str = "nearest_even") -> int:
    """Round an exact number to one of the two integers around it, as the mode says.

    Raises ValueError for an unknown mode.

    >>> [round_to_integer(Fraction(5, 2), mode) for mode in MODES]
    [2, 3, 2, 3, 2, 3]
    >>> [round_to_integer(Fraction(-5, 2), mode) for mode in MODES]
    [-2, -3, -2, -2, -3, -3]
    """
    check_mode(mode)
    below, remainder = divmod(x.numerator, x.denominator)
    if remainder == 0:
        return below
    above = below + 1
    if mode == "down":
        return below
    if mode == "up":
        return above
    if mode == "toward_zero":
        return below if x > 0 else above
    if mode == "to_odd":
        return below if below % 2 else above
    if 2 * remainder != x.denominator:
        return below if 2 * remainder < x.denominator else above
    if mode == "nearest_even":
        return above if below % 2 else below
    return above if x > 0 else below  # nearest_away


def round_to_precision(
    x: Fraction, precision: int, mode: str = "nearest_even", emin: int | None = None
) -> Fraction:
    """Round an exact number to a number of significant bits, with no largest exponent.

    This is the rounded result "as if the exponent range were unbounded" that decides
    overflow (IEEE 754-2019, 7.4). With ``emin`` the numbers below 2^emin keep the quantum of
    that exponent, which is gradual underflow: fewer bits, same spacing, down to zero.

    Raises ValueError for an unknown mode or a precision below 1.

    >>> round_to_precision(Fraction(2049), 11)
    Fraction(2048, 1)
    >>> round_to_precision(Fraction(3, 2**26), 11) == Fraction(3, 2**26)
    True
    >>> round_to_precision(Fraction(3, 2**26), 11, emin=-14) == Fraction(1, 2**24)
    True
    """
    if precision < 1:
        raise ValueError(f"precision = {precision} is below 1; a significand has a leading bit")
    if x == 0:
        check_mode(mode)
        return x
    exponent = floor_log2(x)
    if emin is not None:
        exponent = max(exponent, emin)
    quantum = power_of_two(exponent - (precision - 1))
    return round_to_integer(x / quantum, mode) * quantum


def floor_log2(x: Fraction) -> int:
    """Return the exponent e with 2^e <= |x| < 2^(e + 1), exactly; x must not be zero.

    Raises ValueError for zero, which has no exponent.

    >>> floor_log2(Fraction(1, 10)), floor_log2(Fraction(-8))
    (-4, 3)
    """
    if x == 0:
        raise ValueError("0 has no binary exponent")
    numerator, denominator = abs(x.numerator), x.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    # An a-bit number over a b-bit one lies between 2^(a-b-1) and 2^(a-b+1).
    if exponent >= 0:
        reached = numerator >= denominator << exponent
    else:
        reached = numerator << -exponent >= denominator
    return exponent if reached else exponent - 1


def check_mode(mode: str) -> None:
    """Raise ValueError unless the text is one of MODES."""
    if mode in MODES:
        return
    close = get_close_matches(str(mode).lower(), MODES, n=1)
    suggestion = f" did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"unknown rounding mode {mode!r};{suggestion} the modes are {', '.join(MODES)}"
    )
