"""The stretch of the number line around w: the format's numbers, the exact sum, the result.

Positions run from 0, the left end, to 1, the right end; w stands in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import FloatFormat, power_of_two
from ampcourse.rounding import floor_log2
from ampcourse.widgets import numerals
from ampcourse.widgets.update import words
from ampcourse.widgets.update.state import UpdateState, ordinal

#: Gaps on each side of w that are always in view, and the most marks drawn.
_GAPS_IN_VIEW, _MOST_MARKS = 4, 96
#: Binades narrower than this are not labelled.
_NARROW = Fraction(1, 8)
#: A zone narrower than this is not explained: nobody sees its hatching.
_SLIVER = 0.01


def update_line(state: UpdateState) -> dict[str, Any]:
    """Return what the browser draws of the number line."""
    view = _View(state)
    marks, every = _marks(state.format, view.left, view.right)
    result = state.result.fraction
    return {
        "marks": [[view.place(value), border] for value, border in marks],
        "every": words.every(every) if every > 1 else "",
        "spacings": [[view.place(middle), text] for middle, text in _spacings(state, view)],
        "zone": _zone(state, view),
        "w": [view.place(state.w), short(state.w, state.format)],
        "exact": view.place(state.exact),
        "result": None if result is None else [view.place(result), short(result, state.format)],
        "lost": state.lost,
    }


def short(value: Fraction, fmt: FloatFormat) -> str:
    """Write a number with enough digits to tell it from its neighbours."""
    return numerals.typeset(numerals.about(value, numerals.digits_for(fmt.precision)))


class _View:
    """The stretch in view: some gaps around w, or twice that and so on until Δ fits."""

    def __init__(self, state: UpdateState) -> None:
        half = _GAPS_IN_VIEW * max(state.gap_above, state.gap_below)
        if state.change and abs(state.change) * 8 > half * 7:
            half = power_of_two(floor_log2(abs(state.change) * Fraction(8, 7)) + 1)
        self.left, self.right = state.w - half, state.w + half

    def place(self, value: Fraction) -> float:
        """Return where a number stands."""
        return round(float((value - self.left) / (self.right - self.left)), 5)


def _marks(
    fmt: FloatFormat, left: Fraction, right: Fraction
) -> tuple[list[tuple[Fraction, bool]], int]:
    """Return the format's numbers in a stretch and whether a binade starts there.

    Where there are too many, one in 2^k, counted by their codes; k is the second result.
    """
    first = ordinal(encode(left, fmt, "up", "saturate"), fmt)
    last = ordinal(encode(right, fmt, "down", "saturate"), fmt)
    every = 1
    while (last - first) // every > _MOST_MARKS:
        every *= 2
    places = range(-(-first // every) * every, last + 1, every)
    return [(_value(place, fmt), _is_border(place, fmt)) for place in places], every


def _value(place: int, fmt: FloatFormat) -> Fraction:
    fraction = decode(abs(place) | (fmt.sign_mask if place < 0 else 0), fmt).fraction
    assert fraction is not None
    return fraction


def _is_border(place: int, fmt: FloatFormat) -> bool:
    return abs(place) % (1 << fmt.significand_bits) == 0


def _spacings(state: UpdateState, view: _View) -> Iterator[tuple[Fraction, str]]:
    """Yield the middle of each wide stretch of equal gaps, and the gap as text."""
    for low, high in _binades(state.format, view):
        if high - low >= _NARROW * (view.right - view.left):
            middle = (low + high) / 2
            exponent = max(floor_log2(middle), state.format.emin) if middle else state.format.emin
            gap = power_of_two(exponent - state.format.significand_bits)
            yield middle, words.spacing(numerals.power_of_two(numerals.log2_exact(gap)))


def _binades(fmt: FloatFormat, view: _View) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the stretches of equal gaps in view that could be wide enough for a label."""
    largest = max(abs(view.left), abs(view.right))
    top = floor_log2(largest) + 1
    # Below a few binades nothing is wide enough, unless the subnormals take all.
    bottom = max(top - 6, fmt.emin + 1)
    powers = [power_of_two(e) for e in range(bottom, top + 1)]
    limit = min(fmt.max, largest)
    ends = sorted({-limit, limit, *powers, *(-p for p in powers), view.left, view.right})
    for low, high in pairwise(ends):
        if view.left <= low and high <= view.right and abs(low + high) <= 2 * fmt.max:
            yield low, high


def _zone(state: UpdateState, view: _View) -> dict[str, Any]:
    """Return the stretch in which the exact sum is rounded to w, surely or perhaps."""
    maybe = state.mode == "stochastic"
    up = state.gap_above if maybe else state.lost_up[0]
    down = state.gap_below if maybe else state.lost_down[0]
    ends = (
        0.0 if down is None else view.place(state.w - down),
        1.0 if up is None else view.place(state.w + up),
    )
    label = words.MAYBE if maybe else words.ZONE
    wide = ends[1] - ends[0] >= _SLIVER
    return {"ends": list(ends), "maybe": maybe, "label": label if wide else ""}
