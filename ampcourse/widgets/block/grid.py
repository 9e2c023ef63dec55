"""Where the bits of a block's terms stand on the common grid, as plain data.

Columns count from the left; column 0 is the highest bit of anything drawn. Signs stand apart:
hardware cuts magnitudes, so a magnitude is what the digits show.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ampcourse.formats import power_of_two
from ampcourse.rounding import floor_log2

#: How many places right of the cut are drawn; what is further right is only mentioned.
SHOWN_BELOW = 14


@dataclass(frozen=True)
class Digits:
    """The bits of a magnitude from the place 2^high down to the place 2^low.

    `point` is the place of the last digit before the binary point.
    """

    text: str
    high: int
    point: int

    @property
    def low(self) -> int:
        """The place of the last digit."""
        return self.high - len(self.text) + 1

    @property
    def significand(self) -> str:
        """The digits with their point: the number is this times 2^point."""
        split = self.high - self.point + 1
        tail = self.text[split:]
        return self.text[:split] + (f".{tail}" if tail else "")


def digits(value: Fraction, point: int, low: int | None = None) -> Digits:
    """Write a magnitude in binary, from the point or its first bit to its last bit or `low`.

    Raises ValueError for a value that binary digits cannot end.

    >>> digits(Fraction(9, 4), 0)
    Digits(text='1001', high=1, point=0)
    """
    magnitude = abs(value)
    last = last_place(magnitude)
    high = max(point, floor_log2(magnitude)) if magnitude else point
    bottom = min(point, last if last is not None else point)
    if low is not None:
        bottom = min(low, bottom)
    units = magnitude / power_of_two(bottom)
    return Digits(f"{units.numerator:0{high - bottom + 1}b}", high, point)


def last_place(value: Fraction) -> int | None:
    """Return e for a value whose last bit is worth 2^e; None for zero.

    >>> last_place(Fraction(3, 8)), last_place(Fraction(12))
    (-3, 2)
    """
    numerator, denominator = abs(value.numerator), value.denominator
    if not numerator:
        return None
    if denominator & (denominator - 1):
        raise ValueError(f"{value} has no last bit; its denominator is not a power of two")
    trailing = (numerator & -numerator).bit_length() - 1
    return trailing - (denominator.bit_length() - 1)


@dataclass(frozen=True)
class Grid:
    """The columns of a block: the highest place, the last that is kept, the last drawn."""

    top: int
    quantum: int
    bottom: int

    @classmethod
    def around(cls, rows: list[Digits], largest: int, quantum: int) -> Grid:
        """Make room for all rows, as far down as SHOWN_BELOW places below the cut."""
        top = max([largest, *(row.high for row in rows)])
        low = min([quantum, *(row.low for row in rows)])
        return cls(top, quantum, max(low, quantum - SHOWN_BELOW))

    @property
    def columns(self) -> int:
        """How many columns are drawn."""
        return self.top - self.bottom + 1

    def column(self, place: int) -> int:
        """Return the column of the place 2^place."""
        return self.top - place

    def strip(self, row: Digits, cut: int | None = None) -> dict[str, Any]:
        """Return a row's digits as the browser draws them.

        `cut` is the last place kept, the grid's own if None. `hidden` counts the digits right
        of the picture; `far` says that nothing but them is there.
        """
        last = self.quantum if cut is None else cut
        drawn = row.text[: max(0, row.high - self.bottom + 1)]
        return {
            "start": self.column(row.high) if drawn else self.columns,
            "digits": drawn,
            # From the row's own left: where the point stands and where the cut is.
            "point": row.high - row.point,
            "cut": min(len(drawn), max(0, row.high - last + 1)),
            "hidden": len(row.text) - len(drawn),
            "far": not drawn,
        }
