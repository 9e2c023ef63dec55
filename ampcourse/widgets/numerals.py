"""How numbers are written on the screen and in plain text.

Markup: `^{…}` is a superscript, `_{…}` a subscript; everything else stands for itself, so
that one string serves the browser (`dom.js` draws it) and, through `plain`, a terminal.
"""

from __future__ import annotations

import math
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction

# Plain notation as far as a reader counts zeros at a glance; powers of ten beyond.
_PLAIN_EXPONENTS = range(-5, 21)
# What remains of a number cut in the middle; below 20 hidden digits, cutting gains nothing.
_HEAD, _TAIL, _HIDDEN = 18, 6, 20


def exact(value: float) -> str:
    """Write a float with all its decimal digits, in a form Python reads back.

    >>> exact(2**-13)
    '0.0001220703125'
    >>> exact(2**-24)
    '5.9604644775390625e-8'
    """
    if not math.isfinite(value):
        return str(value)
    return _spell(Decimal(value))


def about(value: Fraction, digits: int = 6, exact_digits: int = 12) -> str:
    """Write a fraction exactly where `exact_digits` suffice, else rounded and marked with ≈.

    >>> about(Fraction(-1, 3)), about(Fraction(1, 4))
    ('≈ -0.333333', '0.25')
    """
    for precision in (exact_digits, digits):
        context = Context(prec=precision, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
        quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
        if not context.flags[Inexact]:
            return _spell(quotient)
    return f"≈ {_spell(quotient)}"


def power_form(value: Fraction, quantum_exponent: int) -> str:
    """Write a value as an integer over, or times, a power of two.

    The integer counts units of 2^quantum_exponent, as the format does; it is not reduced.

    >>> power_form(Fraction(1638, 2**14), -14)
    '1638/2^{14}'
    """
    units = value / Fraction(2) ** quantum_exponent
    if quantum_exponent == 0:
        return str(units.numerator)
    exponent = abs(quantum_exponent)
    power = "2" if exponent == 1 else f"2^{{{exponent}}}"
    return f"{units.numerator}{'/' if quantum_exponent < 0 else ' × '}{power}"


def power_of_two(exponent: int) -> str:
    """Write 2^exponent, as a plain integer up to 2^10 and as a power elsewhere."""
    return str(2**exponent) if 0 <= exponent <= 10 else f"2^{{{exponent}}}"


def equals(text: str) -> str:
    """Put an equals sign before a number unless it says that it is rounded.

    >>> equals("0.5"), equals("≈ 0.3")
    (' = 0.5', ' ≈ 0.3')
    """
    return f" {text}" if text.startswith("≈") else f" = {text}"


def digits_for(precision: int) -> int:
    """Return how many decimal digits tell the values of a precision apart, 6 at least.

    That is 1 + ceil(p log10 2): IEEE 754-2019, 5.12.2, has 5, 9 and 17 for p = 11, 24, 53.

    >>> [digits_for(p) for p in (11, 24, 53)]
    [6, 9, 17]
    """
    return max(6, 1 + math.ceil(precision * math.log10(2)))


def log2_exact(value: Fraction) -> int:
    """Return e for a value of exactly 2^e; raises ValueError for any other.

    >>> log2_exact(Fraction(1, 8))
    -3
    """
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value != Fraction(2) ** exponent:
        raise ValueError(f"{value} is not a power of two")
    return exponent


def hex_code(code: int, bits: int) -> str:
    """Write a code in hexadecimal, as wide as its format.

    >>> hex_code(1, 16)
    '0x0001'
    """
    return f"0x{code:0{-(-bits // 4)}X}"


def shorten(text: str) -> str:
    """Cut a long number in the middle and say how many digits were left out.

    >>> shorten("0.1000000000000000055511151231257827021181583404541015625")
    '0.1000000000000000 …(33 digits)… 015625'
    """
    digits, mark, exponent = text.partition("e")
    hidden = len(digits) - _HEAD - _TAIL
    if hidden > _HIDDEN:
        digits = f"{digits[:_HEAD]} …({hidden} digits)… {digits[-_TAIL:]}"
    return digits + mark + exponent


def typeset(text: str) -> str:
    """Turn the `e-8` of a number that Python reads back into a power of ten."""
    return re.sub(r"e([-+]?)0*(\d+)$", lambda m: f" × 10^{{{m[1].strip('+')}{m[2]}}}", text)


def plain(markup: str) -> str:
    """Write markup for a terminal."""
    return re.sub(r"([\^_])\{([^}]*)\}", r"\1\2", markup)


def spoken(markup: str) -> str:
    """Write markup so that a screen reader says it.

    >>> spoken("≈ 1.5 × 10^{-8}")
    'about 1.5e-8'
    """
    return re.sub(r" × 10\^\{([^}]*)\}", r"e\1", markup).replace("≈", "about")


def _spell(number: Decimal) -> str:
    sign = "-" if number.is_signed() else ""
    if number == 0:
        return f"{sign}0"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    exponent = number.adjusted()
    if exponent not in _PLAIN_EXPONENTS:
        head, tail = digits[0], digits[1:]
        return f"{sign}{head}{'.' if tail else ''}{tail}e{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, tail = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}{'.' if tail else ''}{tail}"
