"""One real number in eight formats: what each makes of it, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ampcourse.decode import Decoded, decode
from ampcourse.encode import encode
from ampcourse.formats import BF16, E2M1, E4M3, E5M2, E8M0, FP16, FP32, TF32, FloatFormat
from ampcourse.number_text import parse_number
from ampcourse.widgets import numerals
from ampcourse.widgets.bits import words
from ampcourse.widgets.bits.deviation import Deviation, deviation, fate
from ampcourse.widgets.bits.shape import spans

#: Widest first, as they are shown.
COMPARED = (FP32, TF32, BF16, FP16, E4M3, E5M2, E2M1, E8M0)

#: The bar of right bits is full where this many leading bits agree.
_FULL_BAR = 24


@dataclass(frozen=True)
class ComparisonRow:
    """A number in one format; `code` is None where the format has no code for it."""

    format: FloatFormat
    code: int | None
    fate: str
    error: Deviation | None

    @property
    def decoded(self) -> Decoded | None:
        """What the code stands for."""
        return None if self.code is None else decode(self.code, self.format)

    @property
    def value_text(self) -> str:
        """The value as a screen shows it, digits cut in the middle."""
        if self.decoded is None:
            return words.NO_CODE
        return numerals.typeset(numerals.shorten(numerals.exact(self.decoded.value)))

    @property
    def error_text(self) -> str:
        """The relative error with three digits, or a word for it."""
        if self.error is None:
            return words.NO_CODE
        if self.error.absolute == 0:
            return words.NO_ERROR
        if self.error.relative is None:
            return words.SHORT_REASONS.get(self.error.reason, self.error.reason)
        return numerals.typeset(numerals.about(self.error.relative, 3, 3))

    def as_data(self) -> dict[str, Any]:
        """Return what the browser draws."""
        fmt, decoded = self.format, self.decoded
        bits = "" if self.code is None else f"{self.code:0{fmt.bits}b}"
        right = None if self.error is None else self.error.right_bits
        return {
            "name": fmt.name,
            "hex": "" if decoded is None else numerals.hex_code(decoded.code, fmt.bits),
            "fields": [
                [field, bits[fmt.bits - low - width : fmt.bits - low]]
                for field, low, width in spans(fmt)
            ],
            "value": self.value_text,
            "full": "" if decoded is None else numerals.exact(decoded.value),
            "error": self.error_text,
            "bar": min(1.0, (right or 0) / _FULL_BAR),
            "right": "" if right is None else words.right_bits(int(right)),
            "fate": self.fate,
        }


def compare(number: str) -> dict[str, ComparisonRow]:
    """Encode number text in each of the eight formats; raises ValueError if it is malformed."""
    parse_number(number)
    return {fmt.name: _row(number, fmt) for fmt in COMPARED}


def _row(number: str, fmt: FloatFormat) -> ComparisonRow:
    try:
        code = encode(number, fmt)
    except ValueError:  # the text is well formed, so the format has no code for it
        return ComparisonRow(fmt, None, words.NO_NAN, None)
    return ComparisonRow(fmt, code, fate(code, fmt, number), deviation(decode(code, fmt), number))
