"""What the explorer holds, and what each gesture turns it into; no widget library here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ampcourse.decode import decode, split_fields
from ampcourse.encode import encode
from ampcourse.formats import FORMATS, FloatFormat, get_format, ieee_like
from ampcourse.neighbours import neighbours
from ampcourse.widgets import numerals
from ampcourse.widgets.bits import words


@dataclass(frozen=True)
class BitState:
    """One code of one format, and the number it is measured against.

    `typed` is the number text of the number field; errors refer to it until another is typed.
    `kept` is the number that a change of format encodes again: what was typed, or the value
    of the bits once they were edited. Passing through a narrow format therefore loses nothing.
    """

    format: FloatFormat
    code: int
    typed: str
    kept: str
    custom: bool = False
    note: str = ""

    @classmethod
    def of(cls, format: str | FloatFormat, typed: str | float) -> BitState:
        """Encode a number in a format.

        Raises ValueError for an unknown format, for malformed text and for a NaN where the
        format has none.
        """
        fmt = get_format(format)
        text = number_text(typed)
        return cls(fmt, encode(text, fmt), text, text, not _is_preset(fmt))

    @property
    def value(self) -> float:
        """The value of the code, exact."""
        return decode(self.code, self.format).value

    def with_typed(self, text: str) -> BitState:
        """Encode another number in the same format; raises as `of` does."""
        return replace(BitState.of(self.format, text), custom=self.custom)

    def with_code(self, code: int) -> BitState:
        """Put other bits in place; raises ValueError for a code the format does not have."""
        value = decode(code, self.format).value
        return replace(self, code=code, kept=numerals.exact(value), note="")

    def with_format(self, format: str | FloatFormat) -> BitState:
        """Encode the number that is kept in another format.

        Where the format cannot hold it (a NaN in FP4), the code becomes 0 and `note` says so.
        """
        fmt = get_format(format)
        code, note = 0, ""
        try:
            code = encode(self.kept, fmt)
        except ValueError:
            note = words.not_held(words.format_name(fmt, not _is_preset(fmt)))
        return replace(self, format=fmt, code=code, note=note, custom=not _is_preset(fmt))

    def with_widths(self, exponent_bits: int, significand_bits: int) -> BitState:
        """Take IEEE 754's rules with these widths, each brought into 2 to 11 and 1 to 52."""
        exponent_bits = min(max(exponent_bits, 2), 11)
        significand_bits = min(max(significand_bits, 1), 52)
        return self.with_format(ieee_like(exponent_bits, significand_bits))

    def as_custom(self) -> BitState:
        """Take IEEE 754's rules with the widths there are."""
        return self.with_widths(self.format.exponent_bits, self.format.significand_bits)

    def flipped(self, bit: int) -> BitState:
        """Flip the bit of weight 2^bit in the code."""
        return self.with_code(self.code ^ (1 << bit))

    def with_bit(self, bit: int, one: bool) -> BitState:
        """Set the bit of weight 2^bit in the code to 1 or 0."""
        cleared = self.code & ~(1 << bit)
        return self.with_code(cleared | (int(one) << bit))

    def with_exponent_field(self, field: int) -> BitState:
        """Put a value into the exponent field; raises ValueError if it does not fit."""
        sign, _, significand = split_fields(self.code, self.format)
        return self._with_fields(sign, field, significand)

    def with_significand_field(self, field: int) -> BitState:
        """Put a value into the significand field; raises ValueError if it does not fit."""
        sign, exponent, _ = split_fields(self.code, self.format)
        return self._with_fields(sign, exponent, field)

    def negated(self) -> BitState:
        """Flip the sign bit; a format without one stays as it is."""
        return self.with_code(self.code ^ self.format.sign_mask)

    def stepped(self, up: bool) -> BitState:
        """Go to the next larger or smaller number; stay where there is none."""
        code = neighbours(self.code, self.format)[1 if up else 0]
        return self if code is None else self.with_code(code)

    def _with_fields(self, sign: int, exponent: int, significand: int) -> BitState:
        fmt = self.format
        for field, width in ((exponent, fmt.exponent_bits), (significand, fmt.significand_bits)):
            if not 0 <= field < 1 << width:
                raise ValueError(f"{field} does not fit a field of {width} bits")
        magnitude = (exponent << fmt.significand_bits) | significand
        return self.with_code(magnitude | (fmt.sign_mask if sign else 0))


def number_text(number: str | float) -> str:
    """Return a number as a person would type it: text as it is, a float with Python's digits.

    >>> number_text(" 1e-8 "), number_text(0.1), number_text(2)
    ('1e-8', '0.1', '2')
    """
    if isinstance(number, str):
        return number.strip()
    # float() first: the repr of a numpy scalar is not a number text.
    return str(number) if isinstance(number, int) else repr(float(number))


def _is_preset(fmt: FloatFormat) -> bool:
    return FORMATS.get(fmt.name) == fmt
