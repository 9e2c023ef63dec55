"""The stretch of the number line around a code: where its neighbours and the typed number lie.

Positions run from 0, the neighbour below, to 1, the neighbour above.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ampcourse.decode import Decoded, decode
from ampcourse.neighbours import neighbours
from ampcourse.operand import read_operand
from ampcourse.widgets import numerals


def number_line(decoded: Decoded, typed: str) -> dict[str, Any] | None:
    """Return ticks, rounding boundaries and the typed number's place, as positions.

    None where there are not two finite neighbours. `typed` is None for a typed NaN, below 0
    or above 1 for a number beyond the neighbours.
    """
    here = decoded.fraction
    codes = neighbours(decoded.code, decoded.format)
    if here is None or codes.below is None or codes.above is None:
        return None
    below = decode(codes.below, decoded.format).fraction
    above = decode(codes.above, decoded.format).fraction
    if below is None or above is None:
        return None

    def label(value: Fraction) -> str:
        digits = numerals.digits_for(decoded.format.precision)
        return numerals.typeset(numerals.about(value, digits))

    at = float((here - below) / (above - below))
    return {
        "ticks": [[0, label(below)], [at, label(here)], [1, label(above)]],
        "boundaries": [at / 2, (1 + at) / 2],
        "typed": _typed_place(typed, below, above),
    }


def _typed_place(typed: str, below: Fraction, above: Fraction) -> float | None:
    number = read_operand(typed)
    if number.kind == "nan":
        return None
    if number.kind == "infinity":
        return -1.0 if number.sign else 2.0
    place = (number.fraction - below) / (above - below)
    return float(min(max(place, Fraction(-1)), Fraction(2)))
