"""Number text: what a person types, taken apart exactly, and exact values written out.

The grammar is close to that of Python's float() and float.fromhex() and covers the sequences
of IEEE 754-2019, 5.12, but for signalling NaNs: an optional sign, then ``inf``, ``infinity``,
``nan``, decimal digits with an optional point and ``e`` exponent, or ``0x`` digits with an
optional point and ``p`` exponent, which is a power of two. One underscore may separate digits.
Nothing is converted to a number here, so neither the length of the text nor the size of its
exponent costs anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

_SPACE = re.compile(r"\s*")
_SIGN = re.compile(r"[+-]?")
_WORD = re.compile(r"infinity|inf|nan|", re.IGNORECASE | re.ASCII)
_HEX_PREFIX = re.compile(r"(?:0[xX])?")
_POINT = re.compile(r"\.?")
_DECIMAL = re.compile(r"(?:[0-9]+(?:_[0-9]+)*)?")
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)?")
_E = re.compile(r"[eE]?")
_P = re.compile(r"[pP]?")

#: An exponent of more digits than this is beyond any text that fits in memory; capping it
#: keeps int() from converting (and, above 4,300 digits, refusing) a long exponent.
_EXPONENT_DIGITS = 25
_SHOWN = 60


class NumberTextError(ValueError):
    """Text that is not a number; ``position`` is the index of the character that is wrong."""

    def __init__(self, text: str, position: int, reason: str) -> None:
        self.text = text
        self.position = position
        self.reason = reason
        start = max(0, position - _SHOWN // 2)
        before = ("\u2026" if start else "") + text[start:position]
        after = text[position : start + _SHOWN]
        super().__init__(
            f"not a number: {reason} (position {position})\n"
            f"    {_printable(before + after)}\n"
            f"    {' ' * len(before)}^"
        )

    def __reduce__(self) -> tuple[type[NumberTextError], tuple[str, int, str]]:
        return type(self), (self.text, self.position, self.reason)


@dataclass(frozen=True)
class Numeral:
    """A number as written: (-1)^sign x digits x base^exponent, or an infinity or a NaN.

    ``digits`` are decimal and ``base`` is 10, or ``digits`` are hexadecimal and ``base`` is 2.
    """

    sign: int
    kind: Literal["finite", "infinity", "nan"] = "finite"
    digits: str = "0"
    base: Literal[2, 10] = 10
    exponent: int = 0


def parse_number(text: str) -> Numeral:
    """Take number text apart without losing a digit.

    Raises NumberTextError, a ValueError that shows the place, for text outside the grammar.

    >>> parse_number("-12.50e3")
    Numeral(sign=1, kind='finite', digits='1250', base=10, exponent=1)
    >>> parse_number("0x1.8p-3")
    Numeral(sign=0, kind='finite', digits='18', base=2, exponent=-7)
    >>> parse_number("1.5e")
    Traceback (most recent call last):
    ampcourse.number_text.NumberTextError: not a number: the exponent needs a digit (position 4)
        1.5e
            ^
    """
    scan = _Scanner(text)
    scan.take(_SPACE)
    sign = 1 if scan.take(_SIGN) == "-" else 0
    word = scan.take(_WORD).lower()
    if word:
        numeral = Numeral(sign, "nan" if word == "nan" else "infinity")
    elif scan.take(_HEX_PREFIX):
        numeral = _hexadecimal(scan, sign)
    else:
        numeral = _decimal(scan, sign)
    scan.take(_SPACE)
    if scan.position < len(text):
        raise scan.error(f"the number should end before {text[scan.position]!r}")
    return numeral


def decimal_text(x: Fraction) -> str:
    """Write an integer multiple of a power of two with every decimal digit.

    Raises ValueError for a fraction whose decimal expansion does not end that way.

    >>> decimal_text(Fraction(-1638, 16384)), decimal_text(Fraction(65504))
    ('-0.0999755859375', '65504')
    """
    places = x.denominator.bit_length() - 1
    if x.denominator != 1 << places:
        raise ValueError(f"{x} is not an integer times a power of two")
    # a / 2^k = a 5^k / 10^k, and the fraction is reduced, so no zeros trail.
    digits = str(abs(x.numerator) * 5**places).zfill(places + 1)
    minus = "-" if x < 0 else ""
    if places == 0:
        return minus + digits
    return f"{minus}{digits[:-places]}.{digits[-places:]}"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


class _Scanner:
    """A place in a text, moved on by whatever a pattern matches there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        taken = match.group() if match else ""
        self.position += len(taken)
        return taken

    def error(self, reason: str) -> NumberTextError:
        return NumberTextError(self.text, self.position, reason)


def _decimal(scan: _Scanner, sign: int) -> Numeral:
    digits, places = _coefficient(scan, _DECIMAL, "a digit, inf or nan")
    return Numeral(sign, "finite", digits, 10, _exponent(scan, _E) - places)


def _hexadecimal(scan: _Scanner, sign: int) -> Numeral:
    digits, places = _coefficient(scan, _HEXADECIMAL, "a hexadecimal digit")
    return Numeral(sign, "finite", digits, 2, _exponent(scan, _P) - 4 * places)


def _coefficient(scan: _Scanner, digit: re.Pattern[str], wanted: str) -> tuple[str, int]:
    """Return the digits around the point, and how many of them follow it."""
    whole = scan.take(digit).replace("_", "")
    point = scan.take(_POINT)
    fraction = scan.take(digit).replace("_", "") if point else ""
    if not whole and not fraction:
        raise scan.error(f"{wanted} is expected here")
    return whole + fraction, len(fraction)


def _exponent(scan: _Scanner, marker: re.Pattern[str]) -> int:
    if not scan.take(marker):
        return 0
    negative = scan.take(_SIGN) == "-"
    digits = scan.take(_DECIMAL).replace("_", "")
    if not digits:
        raise scan.error("the exponent needs a digit")
    digits = digits.lstrip("0") or "0"
    size = int(digits) if len(digits) <= _EXPONENT_DIGITS else 10**_EXPONENT_DIGITS
    return -size if negative else size
