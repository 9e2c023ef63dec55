"""Everything the outlier widget shows, worked out as plain data and as text."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ampcourse.widgets import numerals
from ampcourse.widgets.scaling import words
from ampcourse.widgets.scaling.fates import BlockFate, Fate
from ampcourse.widgets.scaling.state import LEAST, MOST, VALUES, OutlierState

#: The axis of sizes, in powers of two; smaller values stand at its foot.
LOW, HIGH = -7, MOST + 1
_TICKS = (-5, 0, 5, 10, 15, 20)


def view(state: OutlierState) -> dict[str, Any]:
    """Return what the browser draws; places along an axis are shares of it."""
    return {
        "element": state.element,
        "place": [state.place, VALUES - 1, words.place(state.place, VALUES)],
        "exponent": [
            state.exponent,
            MOST,
            words.size(state.exponent),
            words.spoken_size(state.exponent),
        ],
        "axis": [LOW, HIGH],
        "ticks": [[_height(2.0**e), f"2^{{{e}}}"] for e in _TICKS],
        "charts": [_chart(state, fate) for fate in state.fates],
        "rows": rows(state),
        "sentence": sentence(state),
    }


def _chart(state: OutlierState, fate: Fate) -> dict[str, Any]:
    kinds = _kinds(fate)
    bars = [
        [_height(value), kind, i == state.place, words.bar(i, value, stored, kind)]
        for i, (value, stored, kind) in enumerate(
            zip(state.values, fate.stored, kinds, strict=True)
        )
    ]
    name = words.SCHEMES[fate.scheme.name]
    return {"name": name, "bars": bars, "blocks": [_block(block) for block in fate.blocks]}


def _kinds(fate: Fate) -> list[str]:
    kinds = ["kept"] * VALUES
    for kind, places in (("flushed", fate.flushed), ("clamped", fate.clamped)):
        for i in places:
            kinds[i] = kind
    return kinds


def _block(block: BlockFate) -> dict[str, Any]:
    return {
        "from": block.start / VALUES,
        "to": block.end / VALUES,
        "line": _height(block.threshold),
        "scale": words.scale(block.scale, _power(block.scale)),
        "told": words.block(_error(block.error), len(block.flushed), len(block.clamped)),
    }


def _height(value: float) -> float:
    """Return where a magnitude stands on the axis of powers of two, from 0 to 1."""
    if not value:
        return 0.0
    exponent = math.log2(abs(value)) if math.isfinite(value) else HIGH
    return min(max((exponent - LOW) / (HIGH - LOW), 0.0), 1.0)


def _power(scale: float) -> str | None:
    """Return the exponent of a power of two, None for another number."""
    try:
        return str(numerals.log2_exact(Fraction(scale)))
    except ValueError:
        return None


def _error(error: float | None) -> str:
    return words.NOTHING_ELSE if error is None else words.percent(error)


def rows(state: OutlierState) -> list[list[str]]:
    """Return the table: scales, how many become 0, how many are clamped, error, bits."""
    return [
        [
            words.SCHEMES[fate.scheme.name],
            str(len(fate.flushed)),
            str(len(fate.clamped)),
            words.percent(fate.error),
            words.bits(fate.scheme.bits_per_value),
        ]
        for fate in state.fates
    ]


def sentence(state: OutlierState) -> str:
    """Tell the state in one sentence."""
    told = [
        (name, sum(i != state.place for i in fate.flushed), words.percent(fate.error))
        for name, fate in zip(words.SHORT, state.fates, strict=True)
    ]
    return words.sentence(state.element, state.place, state.exponent, told)


def text(state: OutlierState) -> str:
    """Return the widget as text: a sign for each value, its blocks, the table, the sentence.

    A dot is a value that is kept, 0 one that becomes 0, ^ one that is clamped, O the outlier.
    """
    signs = {"kept": ".", "flushed": "0", "clamped": "^"}
    lines = []
    for fate in state.fates:
        marks = [signs[kind] for kind in _kinds(fate)]
        marks[state.place] = "O"
        blocks = ["".join(marks[block.start : block.end]) for block in fate.blocks]
        lines += [words.SCHEMES[fate.scheme.name], "  " + "|".join(blocks)]
        lines += [f"  {_told(block)}" for block in fate.blocks]
    heads = words.HEAD[1:]
    lines += [
        "; ".join([row[0], *map(_pair, zip(heads, row[1:], strict=True))]) for row in rows(state)
    ]
    return numerals.plain("\n".join([*lines, sentence(state)]))


def _told(block: BlockFate) -> str:
    found = _block(block)
    return f"{block.start + 1} to {block.end}: {found['scale']}; {found['told']}"


def _pair(named: tuple[str, str]) -> str:
    return f"{named[0]} {named[1]}"


__all__ = ["HIGH", "LEAST", "LOW", "rows", "sentence", "text", "view"]
