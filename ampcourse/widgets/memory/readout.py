"""Everything the memory widgets show, worked out as plain data and as text."""

from __future__ import annotations

import math
from typing import Any

from ampcourse.memory.literature import FIGURES
from ampcourse.memory.moments import Moment
from ampcourse.widgets.memory import words
from ampcourse.widgets.memory.state import LedgerState, SegmentState, is_on


def ledger_view(state: LedgerState) -> dict[str, Any]:
    """Return what the browser draws: bars in shares of the longest, rows, sentences."""
    longest = max(state.reference, *(moment.total for moment in state.moments))
    return {
        "workload": state.workload,
        "optimizer": state.optimizer,
        "recipe": state.recipe,
        "exponent": int(math.log2(state.batch)),
        "batch": str(state.batch),
        "toggles": {name: is_on(state.assumptions, name) for name in words.TOGGLES},
        "bars": [*_bars(state, longest), _reference(state, longest)],
        "rows": rows(state),
        "parameter": parameter(state),
        "quoted": quoted(state),
        "sentence": sentence(state),
    }


def _bars(state: LedgerState, longest: int) -> list[dict[str, Any]]:
    found = state.moments
    most = _peak(found)
    names = zip(words.MOMENTS, found, strict=True)
    return [_bar(name, moment, i == most, longest) for i, (name, moment) in enumerate(names)]


def _bar(name: str, moment: Moment, is_peak: bool, longest: int) -> dict[str, Any]:
    parts = [
        {
            "what": what,
            "letter": words.LETTERS[what],
            "share": size / longest,
            "told": f"{what}, {words.size(size)}",
        }
        for what, size in moment.bytes.items()
    ]
    return {"name": name, "parts": parts, "total": words.size(moment.total), "peak": is_peak}


def _reference(state: LedgerState, longest: int) -> dict[str, Any]:
    share, size = state.reference / longest, words.size(state.reference)
    told = f"{words.REFERENCE}, {size}"
    part = {"what": "reference", "letter": "", "share": share, "told": told}
    return {"name": words.REFERENCE, "parts": [part], "total": size, "peak": False}


def rows(state: LedgerState) -> list[list[str]]:
    """Return the table: letter, what, type, bytes per parameter, bytes in this model."""
    workload = state.workloads[state.workload]
    found = [
        [
            words.LETTERS[row.what],
            row.what,
            words.TYPES[row.dtype],
            str(row.bytes),
            words.size(row.bytes * workload.parameters),
        ]
        for row in state.ledger.rows
    ]
    kind = "fp32" if workload.per_sample(state.assumptions) == workload.fp32 else "mixed"
    activations = state.moments[0].bytes[words.ACTIVATIONS]
    letter = words.LETTERS[words.ACTIVATIONS]
    last = [letter, words.ACTIVATIONS, words.TYPES[kind], "–", words.size(activations)]
    return [*found, last]


def parameter(state: LedgerState) -> str:
    """Tell the bytes of a parameter."""
    found = state.ledger
    return words.per_parameter(found.forward, found.kept, found.bytes_per_parameter)


def quoted(state: LedgerState) -> str:
    """Name the texts whose figure this is; they all count Adam's."""
    same = [f for f in FIGURES if f.assumptions == state.assumptions and state.optimizer == "adam"]
    return words.quoted([(figure.source.split(",")[0], figure.bytes) for figure in same])


def sentence(state: LedgerState) -> str:
    """Tell the peak in one sentence."""
    place = _peak(state.moments)
    most, moment = state.moments[place], words.MOMENTS[place]
    name = words.RECIPES.get(state.recipe, words.OWN_RECIPE)
    share = most.total / state.reference
    activations = most.bytes.get(words.ACTIVATIONS, 0) / most.total
    return words.sentence(name, moment, most.total, share, activations)


def _peak(found: tuple[Moment, Moment]) -> int:
    """Return the place of the fuller moment, the first if they are equal."""
    return 0 if found[0].total >= found[1].total else 1


def ledger_text(state: LedgerState) -> str:
    """Return the ledger as text."""
    name = state.workloads[state.workload].name
    head = f"{name}, batch {state.batch}, {words.OPTIMIZERS[state.optimizer]}, {state.recipe}"
    lines = [
        f"{what:<16} {kind:<15} {each:>2}  {all_}" for _, what, kind, each, all_ in rows(state)
    ]
    told = [parameter(state) + ".", quoted(state), sentence(state)]
    return "\n".join([head, *lines, *told])


def segment_view(state: SegmentState) -> dict[str, Any]:
    """Return what the browser draws: the chain's layers, the curve, the sentence."""
    peaks = state.peaks
    return {
        "layers": state.layers,
        "segments": state.segments,
        "chain": chain_marks(state),
        "peaks": [[k, peak, peak / max(peaks), k in state.best] for k, peak in enumerate(peaks, 1)],
        "sentence": segment_sentence(state),
    }


def chain_marks(state: SegmentState) -> list[list[str]]:
    """Return per segment what becomes of each layer's input when most is held.

    >>> chain_marks(SegmentState(5, 3))
    [['held', 'held'], ['free', 'free'], ['free']]
    """
    chain = state.chain
    marks = []
    for i, (start, end) in enumerate(chain.bounds):
        if i == chain.fullest:
            marks.append(["held"] * (end - start))
        else:
            first = "kept" if i < chain.fullest else "free"
            marks.append([first, *["free"] * (end - start - 1)])
    return marks


def segment_sentence(state: SegmentState) -> str:
    """Tell the division in one sentence."""
    chain = state.chain
    return words.segment_sentence(
        state.layers, state.segments, chain.peak, chain.recomputed, state.best
    )


def segment_text(state: SegmentState) -> str:
    """Return the chain as text: K kept, H held, a dot for what is not, and the sentence."""
    signs = {"kept": "K", "held": "H", "free": "."}
    parts = ["".join(signs[mark] for mark in part) for part in chain_marks(state)]
    return "\n".join(["|".join(parts), segment_sentence(state)])
