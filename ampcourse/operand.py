"""What encode takes, brought to one form: a sign, a kind and an exact magnitude.

Two kinds of input would take for ever if they were converted digit by digit: numbers with
giant exponents ("1e1000000000000000000") and numbers with many thousand digits. Neither needs
it. Rounding changes only at the numbers of a format and at the midpoints between them. For
every format these lie below 2^1025 and are multiples of 2^-1075, so (a) numbers far outside
that range round alike, and (b) none of these points has more than 800 significant digits,
decimal or hexadecimal, so what follows the first 800 matters only by being zero or not. Both
replacements keep the number on its side of every such point; ``exact`` is False where one was
made.
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
        sign = 1 if x < 0 else 0
        return _from_ratio(sign, abs(int(x.numerator)), int(x.denominator))
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
    return _from_ratio(sign, abs(int(numerator)), int(denominator))


def _from_ratio(sign: int, numerator: int, denominator: int) -> Operand:
    size = numerator.bit_length() - denominator.bit_length()
    if numerator and abs(size) > _FAR:
        return Operand(sign, "finite", power_of_two(_FAR if size > 0 else -_FAR), exact=False)
    return Operand(sign, "finite", Fraction(numerator, denominator))


def _from_decimal(x: Decimal) -> Operand:
    sign, digits, exponent = x.as_tuple()
    if not isinstance(exponent, int):  # 'F', 'n' or 'N'
        return Operand(sign, "infinity" if exponent == "F" else "nan")
    return _from_numeral(Numeral(sign, "finite", "".join(map(str, digits)), 10, exponent))


def _from_numeral(numeral: Numeral) -> Operand:
    """Read digits x base^exponent, with the two replacements that the module describes."""
    sign, base = numeral.sign, numeral.base
    if numeral.kind != "finite":
        return Operand(sign, numeral.kind)
    radix, digit_width, far = (10, 1, _FAR_DECIMAL) if base == 10 else (16, 4, _FAR)
    digits = numeral.digits.lstrip("0")
    if not digits:
        return Operand(sign, "finite")
    size = len(digits) * digit_width + numeral.exponent
    if abs(size) > far:
        return Operand(sign, "finite", power_of_two(_FAR if size > 0 else -_FAR), exact=False)
    kept, dropped = digits[:_DIGITS_THAT_MATTER], digits[_DIGITS_THAT_MATTER:]
    exact = not dropped.strip("0")
    if not exact:
        kept, dropped = kept + "1", dropped[1:]
    exponent = numeral.exponent + len(dropped) * digit_width
    if exponent >= 0:
        return Operand(sign, "finite", Fraction(int(kept, radix) * base**exponent), exact)
    return Operand(sign, "finite", Fraction(int(kept, radix), base**-exponent), exact)
