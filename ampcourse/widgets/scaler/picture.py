"""Everything the scaler scrubber shows about its steps, worked out as plain data and as text."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import Any

from ampcourse.widgets import numerals
from ampcourse.widgets.scaler import words
from ampcourse.widgets.scaler.trace import ScalerTrace, Step

# The scale's axis has this many labels at most.
_MOST_TICKS = 8
# Octaves of the axis that are left free for what an inf may change.
_ROOM = 3
# Powers of two with this exponent are also written out.
_WRITTEN_OUT = range(0, 25)


@lru_cache(maxsize=1024)
def scale_text(scale: float, written_out: bool = False) -> str:
    """Write a scale as markup, a power of two as such.

    >>> scale_text(65536.0), scale_text(65536.0, written_out=True), scale_text(96.0)
    ('2^{16}', '2^{16} = 65536', '96')
    """
    mantissa, exponent = math.frexp(scale)
    if mantissa != 0.5:
        return numerals.typeset(numerals.about(Fraction(scale)))
    power = f"2^{{{exponent - 1}}}"
    plain = written_out and exponent - 1 in _WRITTEN_OUT
    return f"{power} = {int(scale)}" if plain else power


def timeline(trace: ScalerTrace) -> dict[str, Any]:
    """Return what the browser draws: heights on a log2 axis, trackers, events, words."""
    steps = trace.history
    heights = [_log2(step.before.scale) for step in steps]
    low, high = axis(trace)
    return {
        "low": low,
        "high": high,
        "ticks": [[tick, f"2^{{{tick}}}"] for tick in ticks(low, high)],
        "heights": heights,
        "trackers": [step.before.growth_tracker for step in steps],
        "interval": trace.growth_interval,
        "events": [step.event for step in steps],
        "sentences": [sentence(trace, step) for step in steps],
        "rows": [rows(trace, step) for step in steps],
        "transitions": words.transitions(
            trace.growth_factor, trace.backoff_factor, trace.growth_interval
        ),
    }


def axis(trace: ScalerTrace) -> tuple[int, int]:
    """Return the whole exponents at both ends of the scale's axis.

    It leaves room for the trace without infs and for infs at its start, so that the past
    seldom moves when an inf changes the future.
    """
    heights = [h for step in trace.history if (h := _log2(step.before.scale)) is not None]
    free = trace.with_infs(()).history[-1].before.scale
    highest = max(heights)
    low = min(*heights, heights[0] - _ROOM + 1)
    high = max(highest, min(_log2(free) or highest, highest + _ROOM))
    return math.floor(low) - 1, math.ceil(high) + 1


def ticks(low: int, high: int) -> list[int]:
    """Return whole exponents for the axis, few enough to read.

    >>> ticks(14, 20), ticks(-40, 20)
    ([14, 15, 16, 17, 18, 19, 20], [-40, -30, -20, -10, 0, 10, 20])
    """
    for gap in (1, 2, 5, 10, 20, 50):
        first = -(-low // gap) * gap
        found = list(range(first, high + 1, gap))
        if len(found) <= _MOST_TICKS:
            break
    return found


def rows(trace: ScalerTrace, step: Step) -> list[dict[str, Any]]:
    """Return the read-outs of a step, as `controls.js` draws them."""
    before, after = scale_text(step.before.scale), scale_text(step.after.scale, True)
    grows = step.event in ("grown", "capped")
    factor = trace.growth_factor if grows else trace.backoff_factor
    texts = {
        "before": words.before(
            scale_text(step.before.scale, True), step.before.growth_tracker, trace.growth_interval
        ),
        "found_inf": words.found(step.found_inf),
        "decision": words.decision(step.event, before),
        "scale": words.scale_after(step.event, before, after, factor),
        "tracker": words.tracker_after(
            step.event, step.after.growth_tracker, trace.growth_interval
        ),
    }
    return [
        {"key": key, "term": words.TERMS[key], "pieces": [["", text]], "full": ""}
        for key, text in texts.items()
    ]


def sentence(trace: ScalerTrace, step: Step) -> str:
    """Tell a step in one sentence, as markup."""
    scales = scale_text(step.before.scale), scale_text(step.after.scale)
    tracker = step.after.growth_tracker
    return words.sentence(step.number, step.event, *scales, tracker, trace.growth_interval)


def text(trace: ScalerTrace) -> str:
    """Return the steps as text: uneventful ones together, the others one a line."""
    first = scale_text(trace.history[0].before.scale)
    factors = (trace.growth_factor, trace.backoff_factor)
    lines = [words.settings(first, *factors, trace.growth_interval)]
    groups = groupby(trace.history, key=lambda s: s.number if s.event != "counted" else s.event)
    for _, group in groups:
        steps = list(group)
        start, end = steps[0], steps[-1]
        span = str(start.number) if start is end else f"{start.number}-{end.number}"
        scale, after = scale_text(start.before.scale), scale_text(end.after.scale)
        tracker = f"tracker {start.before.growth_tracker} to {end.after.growth_tracker}"
        moved = f"{scale} to {after}" if start.event in ("grown", "skipped") else scale
        lines.append(f"{span:>7}  {words.EVENTS[start.event]:<26} {moved:<14} {tracker}")
    return numerals.plain("\n".join(lines))


def _log2(scale: float) -> float | None:
    return math.log2(scale) if scale else None
