"""How the block FMA widget writes values: powers of two where they are short, else decimals."""

from __future__ import annotations

import math
from fractions import Fraction

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import power_of_two
from ampcourse.rounding import floor_log2
from ampcourse.widgets import numerals
from ampcourse.widgets.bits.deviation import quantum_exponent
from ampcourse.widgets.block.grid import last_place

# 99 × 2^-30 says more than its decimals; integers up to here are read at a glance.
_SHORT_FACTOR = 99
_PLAIN_INTEGER = 2**16
# As many as tell fp32 numbers apart.
_DIGITS = numerals.digits_for(24)


def value(number: Fraction | float) -> str:
    """Write a number as markup: an integer, a few powers of two, or decimals.

    >>> value(Fraction(2048)), value(Fraction(3, 2**14)), value(1 - 2.0**-24)
    ('2048', '3 × 2^{-14}', '1 - 2^{-24}')
    """
    if isinstance(number, float) and (not math.isfinite(number) or not number):
        return numerals.exact(number)
    exact = Fraction(number)
    low = last_place(exact)
    if low is None:
        return "0"
    if exact.denominator == 1 and abs(exact) <= _PLAIN_INTEGER:
        return str(exact.numerator)
    odd = abs(exact) / power_of_two(low)
    minus = "-" if exact < 0 else ""
    if odd <= _SHORT_FACTOR:
        return minus + _times(odd.numerator, low)
    return _two_powers(abs(exact), low, minus) or numerals.typeset(numerals.about(exact, _DIGITS))


def ulps(result: float, exact: float, output: str) -> Fraction | None:
    """Count from the exact value to the result in the output's ulps; None where that is idle.

    An ulp is that of the exact value; next to an exact zero, an infinity or a NaN ulps tell
    nothing.
    """
    if not (math.isfinite(result) and math.isfinite(exact)) or not exact:
        return None
    quantum = quantum_exponent(decode(encode(exact, output), output))
    assert quantum is not None
    return (Fraction(result) - Fraction(exact)) / power_of_two(quantum)


def _times(factor: int, exponent: int) -> str:
    power = f"2^{{{exponent}}}"
    return power if factor == 1 else f"{factor} × {power}"


def _two_powers(magnitude: Fraction, low: int, minus: str) -> str:
    """Write 2^h ± 2^low as such; empty for any other number."""
    high = floor_log2(magnitude)
    for head, sign in ((high, "+"), (high + 1, "-")):
        if abs(magnitude - power_of_two(head)) == power_of_two(low):
            text = f"{_power(head)} {sign} {_power(low)}"
            return f"-({text})" if minus else text
    return ""


def _power(exponent: int) -> str:
    return str(2**exponent) if 0 <= exponent <= 16 else f"2^{{{exponent}}}"
