"""Everything the gradient window shows of a state, worked out as plain data.

Places on the axis run from 0 to 1.
"""

from __future__ import annotations

import math
from typing import Any

from ampcourse.dynamic_range import Bar
from ampcourse.widgets import numerals
from ampcourse.widgets.window import words
from ampcourse.widgets.window.state import WindowState

_TICK = 8
#: Marks this near to an edge give way to it; an edge this near to another is a minor one.
_NEAR, _CROWDED = 3, 8


def readout(state: WindowState) -> dict[str, Any]:
    """Return every read-out of a state; the browser draws it and computes nothing."""
    steps = list(state.recording.steps)
    place = steps.index(state.step)
    return {
        "format": state.format.name,
        "height": state.height,
        "layers": list(state.layers),
        "layer": state.layer,
        "step": [place, len(steps) - 1, words.step(state.step, place + 1, len(steps))],
        "scale": [state.shift, scale_text(state), words.scale_spoken(state.shift)],
        "regions": regions(state),
        "ticks": ticks(state),
        "bars": bars(state),
        "classes": classes(state),
        "rows": [
            {"key": key, "term": words.TERMS[key], "pieces": [["", text]], "full": ""}
            for key, text in rows(state)
        ],
        "sentence": sentence(state),
    }


def scale_text(state: WindowState) -> str:
    """Write the loss scale as a power and as a number."""
    power = f"2^{{{state.shift}}}"
    return f"{power} = {words.count(2**state.shift)}"


def regions(state: WindowState) -> list[dict[str, Any]]:
    """Return the parts of the range that lie on the axis, with their names."""
    low, high = state.recording.axis
    view = state.view
    edges = (low, view.smallest, view.normal, view.end, high)
    found = []
    for kind, start, stop in zip(words.REGIONS, edges[:-1], edges[1:], strict=True):
        start, stop = (min(max(edge, low), high) for edge in (start, stop))
        if start < stop:
            at = [_place(state, start), _place(state, stop)]
            found.append({"kind": kind, "at": at, "name": words.REGIONS[kind]})
    return found


def ticks(state: WindowState) -> list[dict[str, Any]]:
    """Return the marks under the axis: the edges of the range, and every eighth exponent.

    Minor ones give way where the page is narrow.
    """
    low, high = state.recording.axis
    view = state.view
    edges = [edge for edge in (view.smallest, view.normal, view.end) if low <= edge <= high]
    even = [
        exponent
        for exponent in range(low, high + 1, _TICK)
        if all(abs(exponent - edge) > _NEAR for edge in edges)
    ]
    crowded = [view.normal] if view.normal - view.smallest < _CROWDED else []
    return [
        {
            "at": _place(state, exponent),
            "exponent": exponent,
            "edge": exponent in edges,
            "minor": exponent in crowded or (exponent in even and exponent % (2 * _TICK) != 0),
        }
        for exponent in sorted([*edges, *even])
    ]


def bars(state: WindowState) -> list[dict[str, Any]]:
    """Return the bars on the axis; the outermost ones hold what lies beyond, too."""
    low, high = state.recording.axis
    top = max(state.histogram.counts, default=0)
    columns: dict[int, list[Bar]] = {}
    for bar in state.view.bars:
        columns.setdefault(min(max(bar.exponent, low), high - 1), []).append(bar)
    return [_bar(state, column, held, top) for column, held in columns.items()]


def _bar(state: WindowState, column: int, held: list[Bar], top: int) -> dict[str, Any]:
    kept, flushed = sum(bar.kept for bar in held), sum(bar.flushed for bar in held)
    height = _height(state, kept + flushed, top)
    low, _ = state.recording.axis
    nearest = held[-1] if column == low else held[0]
    alone = len(held) == 1 and nearest.exponent == column
    power = str(column) if alone else words.beyond(column)
    share = kept / (kept + flushed) if kept + flushed else 0.0
    total = state.histogram.total
    return {
        # The bin before scaling: the same bar keeps its element while it moves.
        "key": held[0].exponent - state.shift,
        "at": [_place(state, column), _place(state, column + 1)],
        "kind": nearest.place,
        "kept": height * share,
        "flushed": height * (1 - share),
        "title": words.bar(
            power, kept + flushed, words.percent(kept + flushed, total), _fate(kept, flushed)
        ),
    }


def _fate(kept: int, flushed: int) -> str:
    return f"{words.count(flushed)} {words.CLASSES['flushed']}" if flushed else words.NONE


def _height(state: WindowState, count: int, top: int) -> float:
    if not count:
        return 0.0
    if state.height == "log":
        return min(1.0, math.log2(1 + count) / math.log2(1 + top))
    return min(1.0, count / top)


def classes(state: WindowState) -> list[dict[str, Any]]:
    """Return the share of all values in each class, for the bar under the chart."""
    counts = _counts(state)
    total = state.histogram.total
    return [
        {
            "kind": kind,
            "share": counts[kind] / total if total else 0.0,
            "name": name,
            "percent": words.percent(counts[kind], total),
        }
        for kind, name in words.CLASSES.items()
    ]


def rows(state: WindowState) -> list[tuple[str, str]]:
    """Return the read-outs in reading order, as (key, markup)."""
    report, histogram = state.report, state.histogram
    total, nonzero = histogram.total, report.nonzero
    told = {key: words.share(part, total) for key, part in _counts(state).items()}
    told["flushed"] = words.flushed(report.flushed, total, nonzero)
    told["subnormal"] = words.of_them(told["subnormal"], report.may_be_normal)
    told["overflow"] = words.more(told["overflow"], _uncertain(state))
    return [
        ("values", words.values(total, histogram.population, nonzero) if total else words.EMPTY),
        *told.items(),
        ("headroom", _headroom(state)),
    ]


def sentence(state: WindowState) -> str:
    """Tell the state in one sentence, for a screen reader and for a terminal."""
    report, name = state.report, state.format.name
    if state.headroom is None:
        return words.sentence_empty(state.layer, name, state.shift)
    uncertain = _uncertain(state)
    flushed, subnormal, overflow = (
        words.percent(part, report.nonzero)
        for part in (report.flushed, report.subnormal, report.overflow + uncertain)
    )
    overflow = words.at_most(overflow) if uncertain else overflow
    rest = words.sentence_headroom(state.headroom)
    return words.sentence(state.layer, name, state.shift, flushed, subnormal, overflow, rest)


def _counts(state: WindowState) -> dict[str, int]:
    report = state.report
    return {
        "zeros": report.zeros,
        "flushed": report.flushed,
        "subnormal": report.subnormal,
        "normal": report.normal,
        "overflow": report.overflow,
        "not_finite": report.infs + report.nans,
    }


def _uncertain(state: WindowState) -> int:
    """Return how many values of the top bin may overflow; none if the largest does not."""
    room = state.headroom
    return state.report.may_overflow if room is not None and room < 0 else 0


def _headroom(state: WindowState) -> str:
    if state.headroom is None:
        return words.NO_HEADROOM
    largest = numerals.typeset(f"{state.histogram.largest * 2.0**state.shift:.3g}")
    return words.headroom(state.headroom, largest)


def _place(state: WindowState, exponent: int) -> float:
    low, high = state.recording.axis
    return round((exponent - low) / (high - low), 5)
