"""The lines of a block's picture: a term, the sum, a result, and the bits each is drawn with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ampcourse.rounding import floor_log2
from ampcourse.tensor_core.configurations import Configuration
from ampcourse.widgets import numerals
from ampcourse.widgets.block import words
from ampcourse.widgets.block.grid import Digits, Grid, digits
from ampcourse.widgets.block.values import value


@dataclass(frozen=True)
class Row:
    """One line of the picture; `cut` is the last place kept, None where nothing is cut."""

    key: str
    label: str
    number: Fraction | float
    exponent: str = ""
    largest: bool = False
    digits: Digits | None = None
    cut: int | None = None
    lost: Fraction = Fraction(0)

    def as_data(self, grid: Grid | None) -> dict[str, Any]:
        """Return what the browser draws."""
        data: dict[str, Any] = {
            "key": self.key,
            "label": self.label,
            "value": value(self.number),
            "exponent": self.exponent,
            "largest": self.largest,
            "minus": self.number < 0,
            "strip": None,
        }
        if self.digits is None or grid is None:
            return data
        strip = grid.strip(self.digits, grid.bottom if self.cut is None else self.cut)
        strip["rest"] = _rest(strip, self)
        own = {"digits": self.digits.text, "point": self.digits.high - self.digits.point}
        return {**data, "strip": strip, "own": own, "spoken": self._spoken()}

    def _spoken(self) -> str:
        assert self.digits is not None
        cut_off = 0 if self.cut is None else max(0, self.cut - self.digits.low)
        cut_off = min(cut_off, len(self.digits.text))
        lost = numerals.plain(value(abs(self.lost)))
        kept = len(self.digits.text) - cut_off
        return words.spoken_bits(self.digits.significand, kept, cut_off if self.lost else 0, lost)


def own_digits(number: float) -> Digits | None:
    """Return the bits of a result by its own exponent; None where there are none to draw."""
    if not number or not math.isfinite(number):
        return None
    return digits(Fraction(number), floor_log2(Fraction(number)))


def sum_digits(total: Fraction, quantum: int) -> Digits:
    """Return the bits of a sum down to the last place kept."""
    return digits(total, floor_log2(total) if total else quantum, quantum)


def output_place(total: Fraction, rule: Configuration) -> int | None:
    """Return the last place that the output keeps of a sum; None for zero."""
    if not total:
        return None
    return max(floor_log2(total), rule.output.emin) - rule.output_fraction_bits


def _rest(strip: dict[str, Any], row: Row) -> str:
    if strip["far"]:
        return words.far(value(abs(Fraction(row.number))))
    return words.beyond(strip["hidden"]) if strip["hidden"] else ""


def text_row(row: Row, grid: Grid | None) -> str:
    """Return a row for a terminal; a bar marks the cut."""
    label = numerals.plain(row.label).replace("_", "")
    head = f"{label:<22} {numerals.plain(value(row.number)):<24} {row.exponent:<16}"
    if grid is None or row.digits is None:
        return head.rstrip()
    strip = grid.strip(row.digits)
    kept = grid.column(grid.quantum) + 1
    line = " " * strip["start"] + strip["digits"]
    sign = "-" if row.number < 0 else "+"
    line = line.ljust(kept)
    return f"{head} {sign}{line[:kept]}|{line[kept:]}{_rest({**strip}, row)}".rstrip()
