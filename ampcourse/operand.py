"""What encode takes, brought to one form: a sign, a kind and an exact magnitude.

Two kinds of input would take for ever if they were converted digit by digit: numbers with
giant exponents ("1e1000000000000000000") and numbers with many thousand digits. Neither needs
it. Every number of every format, and every midpoint between two neighbours, lies below 2^1025
and is a multiple of 2^-1075, so (a) all numbers beyond 2^1200, or below 2^-1200, round alike,
and (b) no such point has more than 800 significant decimal digits, so what follows the first
800 matters only by being zero or not. Both replacements keep the number on its side of every
point where rounding changes; ``exact`` says that one was made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Literal

from ampcourse.formats import power_of_two
from ampcourse.number_text import Numeral, parse_number

_FAR = 1200
_FAR_DECIMAL = 400  # 10^400 and 10^-400 lie outside 2^1200 and 2^-1200
_DIGITS_THAT_MATTER = 800

Number = int | float | Fraction | Decimal | str


@dataclass(frozen=True)
class Operand:
    """A number to be rounded; ``magnitude`` is 0 for infinities and NaN.

    The sign is kept apart, so -0.0 and NaN have theirs.
    """

    sign: int
    kind: Literal["finite", "infinity", "nan"]
    magnitude: Fraction = Fraction(0)
    exact: bool = True

    @property
    def is_zero(self) -> bool:
        """Whether the operand is a zero of either sign."""
        return self.kind == "finite" and self.magnitude == 0

    @property
    def fraction(self) -> Fraction:
        """The signed value of a finite operand."""
        return -self.magnitude if self.sign else self.magnitude


def read_operand(x: Number) -> Operand:
    """Read an int, float, Fraction, Decimal or number text without rounding it.

    Any real number type with an exact integer ratio is taken too, such as numpy's scalars.
    Raises NumberTextError (a ValueError) for malformed text and TypeError for other types;
    bool is refused, since a flag is seldom meant as a number.

    >>> read_operand("0.1").fraction, read_operand(0.1).fraction
    (Fraction(1, 10), Fraction(3602879701896397, 36028797018963968))
    >>> read_operand("-1e-1000000000000000000").exact
    False
    """
    if isinstance(x, str):
        return _from_numeral(parse_number(x))
    if isinstance(x, Decimal):
        return _from_decimal(x)
    if isinstance(x, bool):
        raise TypeError(f"{x!r} is a bool, not a number; use int({x!r}) if you mean {int(x)}")
    if isinstance(x, Rational):
        return _from_ratio(int(x.numerator), int(x.denominator))
    if isinstance(x, Real) and hasattr(x, "as_integer_ratio"):
        return _from_real(x)
    raise TypeError(
        f"cannot encode {x!r} ({type(x).__name__}); pass an int, float, Fraction, Decimal or "
        'text such as "0.1" or "0x1.8p-3" (one number of an array or tensor: .item())'
    )


def _from_real(x: Real) -> Operand:
    sign = 1 if math.copysign(1.0, float(x)) < 0 else 0
    if x != x:
        return Operand(sign, "nan")
    if math.isinf(x):
        return Operand(sign, "infinity")
    numerator, denominator = x.as_integer_ratio()  # type: ignore[attr-defined]
    operand = _from_ratio(int(numerator), int(denominator))
    return Operand(sign, "finite", operand.magnitude, operand.exact)


def _from_ratio(numerator: int, denominator: int) -> Operand:
    sign = 1 if numerator < 0 else 0
    size = numerator.bit_length() - denominator.bit_length()
    if numerator and abs(size) > _FAR:
        return Operand(sign, "finite", power_of_two(_FAR if size > 0 else -_FAR), exact=False)
    return Operand(sign, "finite", Fraction(abs(numerator), denominator))


def _from_decimal(x: Decimal) -> Operand:
    sign, digits, exponent = x.as_tuple()
    if not isinstance(exponent, int):  # 'F', 'n' or 'N'
        return Operand(sign, "infinity" if exponent == "F" else "nan")
    return _from_digits(sign, "".join(map(str, digits)), exponent)


def _from_numeral(numeral: Numeral) -> Operand:
    if numeral.kind != "finite":
        return Operand(numeral.sign, numeral.kind)
    if numeral.base == 10:
        return _from_digits(numeral.sign, numeral.digits, numeral.exponent)
    coefficient = int(numeral.digits, 16)
    size = coefficient.bit_length() + numeral.exponent
    if coefficient and abs(size) > _FAR:
        far = power_of_two(_FAR if size > 0 else -_FAR)
        return Operand(numeral.sign, "finite", far, exact=False)
    magnitude = coefficient * power_of_two(numeral.exponent) if coefficient else Fraction(0)
    return Operand(numeral.sign, "finite", magnitude)


def _from_digits(sign: int, digits: str, exponent: int) -> Operand:
    """Read digits x 10^exponent, with the two replacements that the module describes."""
    digits = digits.lstrip("0")
    stripped = digits.rstrip("0")
    exponent += len(digits) - len(stripped)
    if not stripped:
        return Operand(sign, "finite")
    size = len(stripped) + exponent
    if abs(size) > _FAR_DECIMAL:
        return Operand(sign, "finite", power_of_two(_FAR if size > 0 else -_FAR), exact=False)
    kept = stripped[:_DIGITS_THAT_MATTER]
    exact = kept == stripped
    if not exact:
        kept += "1"  # the last digit dropped is not zero
    exponent += len(stripped) - len(kept)
    coefficient = int(kept)
    if exponent >= 0:
        return Operand(sign, "finite", Fraction(coefficient * 10**exponent), exact)
    return Operand(sign, "finite", Fraction(coefficient, 10**-exponent), exact)
