"""What the bit grid needs to know about a format: its fields and what each bit is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ampcourse.formats import FORMATS, FloatFormat
from ampcourse.widgets import numerals
from ampcourse.widgets.bits import words

FIELDS = ("sign", "exponent", "significand")


def shape(fmt: FloatFormat, custom: bool) -> dict[str, Any]:
    """Return the title of a format, its fields from the top bit down and their widths."""
    return {
        "title": title(fmt, custom),
        "custom": custom,
        "fields": [_field(field, low, width) for field, low, width in spans(fmt)],
        "exponentBits": fmt.exponent_bits,
        "significandBits": fmt.significand_bits,
        "signed": fmt.signed,
    }


def title(fmt: FloatFormat, custom: bool) -> str:
    """Return the line that says what a format is made of, and which preset a custom one equals."""
    bare = replace(fmt, name="", library_name="")
    twins = (f for f in FORMATS.values() if replace(f, name="", library_name="") == bare)
    return words.format_title(fmt, custom, next((twin.name for twin in twins), ""))


def spans(fmt: FloatFormat) -> list[tuple[str, int, int]]:
    """Return (field, index of its lowest bit, width) for the fields that a format has."""
    widths = (int(fmt.signed), fmt.exponent_bits, fmt.significand_bits)
    lows = (fmt.bits - 1, fmt.significand_bits, 0)
    return [span for span in zip(FIELDS, lows, widths, strict=True) if span[2]]


def _field(field: str, low: int, width: int) -> dict[str, Any]:
    exponents = [_weight(field, place, width) for place in reversed(range(width))]
    return {
        "field": field,
        "title": words.field_title(field, width),
        "low": low,
        "weights": ["±" if e is None else numerals.power_of_two(e) for e in exponents],
        "names": [words.bit_name(field, e) for e in exponents],
    }


def _weight(field: str, place: int, width: int) -> int | None:
    """Return e if the bit at a place of its field counts 2^e in the formula."""
    if field == "sign":
        return None
    return place if field == "exponent" else place - width
