"""How far a code is from the number that was typed, and what became of that number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ampcourse.decode import Decoded, decode
from ampcourse.encode import encode
from ampcourse.formats import FloatFormat, power_of_two
from ampcourse.operand import Operand, read_operand
from ampcourse.widgets import numerals
from ampcourse.widgets.bits import words


@dataclass(frozen=True)
class Deviation:
    """The difference of a code's value and a typed number.

    `absolute` is value minus number, None where `reason` says why there is no such number;
    `ulps` counts the spacing of the format at the value, `relative` is against the number.
    """

    absolute: Fraction | None
    ulps: Fraction | None = None
    relative: Fraction | None = None
    reason: str = ""

    @property
    def right_bits(self) -> float | None:
        """How many leading bits are right, as -log2 of the relative error; None without one."""
        if not self.relative:
            return None
        size = self.relative.numerator.bit_length() - self.relative.denominator.bit_length()
        # A tiny relative error is below the range of a double: scale before log2.
        return max(0.0, -size - math.log2(self.relative / power_of_two(size)))


def quantum_exponent(decoded: Decoded) -> int | None:
    """Return the exponent of one ulp at a code: the weight of its last bit."""
    if decoded.exponent is None:
        return None
    return decoded.exponent - decoded.format.significand_bits


def deviation(decoded: Decoded, typed: str) -> Deviation:
    """Hold a code against number text; raises ValueError for malformed text."""
    number = read_operand(typed)
    quantum = quantum_exponent(decoded)
    if number.kind == "nan" or decoded.kind == "nan":
        return Deviation(None, reason=words.NAN_ERROR)
    if number.kind == "infinity" and decoded.kind == "infinity" and number.sign == decoded.sign:
        return Deviation(Fraction(0), Fraction(0), Fraction(0))
    if number.kind == "infinity" or decoded.fraction is None or quantum is None:
        return Deviation(None, reason=words.INFINITE_ERROR)
    if not number.exact:
        return Deviation(None, reason=words.FAR_ERROR)
    absolute = decoded.fraction - number.fraction
    relative = abs(absolute) / number.magnitude if number.magnitude else None
    return Deviation(absolute, absolute / power_of_two(quantum), relative)


def fate(code: int, fmt: FloatFormat, typed: str) -> str:
    """Say what a format makes of a typed number where it does not simply round it.

    The format is the subject of the phrase. Empty if the code is not the typed number's.
    """
    number = read_operand(typed)
    if number.kind == "nan" or code != encode(typed, fmt):
        return ""
    decoded = decode(code, fmt)
    if decoded.kind == "nan":
        return _fate_nan(number, fmt)
    if number.kind == "infinity" or number.magnitude > fmt.max:
        return _fate_large(number, decoded)
    if number.magnitude and decoded.kind == "zero":
        return words.UNDERFLOW
    if not fmt.has_zero and number.magnitude < fmt.smallest:
        return words.at_smallest(_value(decoded))
    return words.SUBNORMAL if decoded.kind == "subnormal" else ""


def _fate_nan(number: Operand, fmt: FloatFormat) -> str:
    if not fmt.has_zero and number.kind == "finite" and not number.magnitude:
        return words.NO_ZERO
    if not fmt.signed and number.sign:
        return words.NO_SIGN
    return words.OVERFLOW_NAN


def _fate_large(number: Operand, decoded: Decoded) -> str:
    if decoded.kind == "infinity":
        return words.OVERFLOW if number.kind == "finite" else ""
    if decoded.format.special_codes == "none":
        return words.at_largest(_value(decoded))
    return ""


def _value(decoded: Decoded) -> str:
    assert decoded.fraction is not None
    return numerals.typeset(numerals.about(decoded.fraction))
