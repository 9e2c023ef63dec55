"""Everything the lost-update widget tells about an update, worked out as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ampcourse.decode import decode
from ampcourse.neighbours import neighbours
from ampcourse.rounding import floor_log2
from ampcourse.widgets import numerals
from ampcourse.widgets.update import words
from ampcourse.widgets.update.line import short, update_line
from ampcourse.widgets.update.state import UpdateState


@dataclass(frozen=True)
class Row:
    """One line of the read-outs; `full` is what to copy where the text shortens it."""

    key: str
    markup: str
    full: str = ""

    @property
    def term(self) -> str:
        """The name of the line."""
        return words.TERMS[self.key]

    def as_data(self) -> dict[str, Any]:
        """Return what the browser draws."""
        return {
            "key": self.key,
            "term": self.term,
            "pieces": [["", self.markup]],
            "full": self.full,
        }


def readout(state: UpdateState) -> dict[str, Any]:
    """Return every read-out of a state; the browser draws it and computes nothing."""
    return {
        "format": state.format.name,
        "mode": state.mode,
        "sign": "-" if state.negative else "+",
        "w": state.w_typed,
        "delta": state.delta,
        "slider": [state.slider_position, state.slider_end, size(state)],
        "note": note(state),
        "verdict": verdict(state),
        "lost": state.lost,
        "sum": addition(state),
        "sentence": sentence(state),
        "line": update_line(state),
        "chance": chance(state) if state.mode == "stochastic" else None,
        "rows": [row.as_data() for row in rows(state)],
    }


def note(state: UpdateState) -> str:
    """Say that the weight typed had to be rounded, if so."""
    if state.w_is_typed:
        return ""
    return words.not_held(
        numerals.shorten(state.w_typed), state.format.name, short(state.w, state.format)
    )


def verdict(state: UpdateState) -> str:
    """Say in a word or three what became of the update."""
    if state.steps is None:
        return words.OVERFLOW
    if state.change == 0:
        return words.NOTHING
    return words.LOST if state.lost else words.moved(state.steps)


def addition(state: UpdateState) -> str:
    """Write the addition, the exact sum and what it is rounded to."""
    total, _ = _total(state)
    delta = numerals.typeset(numerals.shorten(state.delta.lstrip("+-")))
    return words.added(
        short(state.w, state.format), delta, state.negative, numerals.equals(total), _result(state)
    )


def sentence(state: UpdateState) -> str:
    """Tell the state in one sentence, for a screen reader and for a terminal."""
    weight = numerals.spoken(short(state.w, state.format))
    bare = numerals.shorten(state.delta.lstrip("+-"))
    total = words.plus(weight, bare, state.negative)
    return words.sentence(state.format.name, state.mode, total, _outcome(state, weight))


def rows(state: UpdateState) -> list[Row]:
    """Return the read-outs in reading order."""
    total, full = _total(state)
    return [
        Row("sum", total, full),
        Row("result", _result_with_code(state)),
        Row("moved", _moved(state)),
        Row("ratio", _ratio(state)),
        Row("above", _neighbour(state, up=True)),
        Row("lost_up", _limit(state, up=True)),
        Row("below", _neighbour(state, up=False)),
        Row("lost_down", _limit(state, up=False)),
    ]


def size(state: UpdateState) -> str:
    """Write the size of Δ as a power of two times a number from 1 to 2."""
    if not state.change:
        return "0"
    exponent = floor_log2(state.change)
    significand = abs(state.change) / Fraction(2) ** exponent
    factor = numerals.about(significand, 4, 4)
    power = f"2^{{{exponent}}}"
    return power if factor == "1" else f"{factor} × {power}"


def chance(state: UpdateState) -> dict[str, Any]:
    """Return what the browser shows about a stochastic rounding."""
    low, high = state.around
    if low == high:
        told = words.certain(short(low, state.format))
        return {"told": told, "expected": "", "tally": "", "bars": [], "certain": True}
    up = state.probability_up
    texts = [short(value, state.format) for value in (low, high)]
    percents = [_percent(1 - up), _percent(up)]
    return {
        "told": words.chance(numerals.equals(percents[1]), texts[1], texts[0]),
        "expected": words.expectation(texts[0], texts[1], numerals.equals(_total(state)[0])),
        "tally": _tally(state),
        "bars": [
            {
                "label": words.tally_bar(text, count, percent),
                "share": count / max(1, sum(state.draws)),
                "expected": float(share),
            }
            for text, count, percent, share in zip(
                texts, state.draws, percents, (1 - up, up), strict=True
            )
        ],
        "certain": False,
    }


def _outcome(state: UpdateState, weight: str) -> str:
    if state.steps is None:
        return words.told_overflow(state.result.kind)
    if state.change == 0:
        return words.told_nothing(weight)
    if state.lost:
        return words.told_lost(weight, state.mode == "stochastic")
    return words.told_moved(numerals.spoken(_result(state)), state.steps)


def _total(state: UpdateState) -> tuple[str, str]:
    """Return the exact sum, cut in the middle if it is long, and whole if it was cut."""
    digits = numerals.about(state.exact, 17, 400)
    shown = numerals.shorten(digits)
    return numerals.typeset(shown), digits if "…" in shown else ""


def _result(state: UpdateState) -> str:
    fraction = state.result.fraction
    if fraction is None:
        return numerals.exact(state.result.value)
    return short(fraction, state.format)


def _result_with_code(state: UpdateState) -> str:
    return f"{_result(state)}, {numerals.hex_code(state.result.code, state.format.bits)}"


def _moved(state: UpdateState) -> str:
    fraction, steps = state.result.fraction, state.steps
    if fraction is None or steps is None:
        return numerals.exact(state.result.value)
    if not steps:
        return words.UNMOVED
    change = fraction - state.w
    share = numerals.about(change / state.change, 3, 3) if state.change else ""
    return words.moved_by(numerals.typeset(numerals.about(change)), numerals.typeset(share), steps)


def _ratio(state: UpdateState) -> str:
    if not state.change:
        return words.NO_RATIO
    return numerals.typeset(numerals.about(abs(state.w / state.change), 6, 8))


def _neighbour(state: UpdateState, up: bool) -> str:
    gap = state.gap_above if up else state.gap_below
    away, half = (numerals.power_of_two(numerals.log2_exact(g)) for g in (gap, gap / 2))
    code = neighbours(state.w_code, state.format)[1 if up else 0]
    there = None if code is None else decode(code, state.format).fraction
    if there is None:
        return words.beyond(away, half)
    return words.gap(short(there, state.format), away, half)


def _limit(state: UpdateState, up: bool) -> str:
    if state.mode == "stochastic":
        gap = state.gap_above if up else state.gap_below
        return words.maybe(numerals.power_of_two(numerals.log2_exact(gap)))
    bound, included = state.lost_up if up else state.lost_down
    if bound is None:
        return words.ALWAYS
    if bound == 0:
        return words.NEVER
    ratio = numerals.typeset(numerals.about(abs(state.w) / bound)) if state.w else ""
    return words.limit(numerals.power_of_two(numerals.log2_exact(bound)), ratio, included)


def _tally(state: UpdateState) -> str:
    draws = sum(state.draws)
    if not draws:
        return ""
    low, high = state.around
    mean = (state.draws[0] * low + state.draws[1] * high) / draws
    digits = numerals.digits_for(state.format.precision) + 2
    return words.tally(draws, numerals.typeset(numerals.about(mean, digits)))


def _percent(share: Fraction) -> str:
    return f"{numerals.about(100 * share, 4, 6)} %"
