"""Put comparisons into tables and words to read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ampcourse.benchmark.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

# An address in a sentence: no bracket or comma in it, no full stop at its end.
_ADDRESS = r"https://([^\s,()/]+(?:/[^\s,()/]+){0,2})[^\s,()]*(?<!\.)"


def table(results: Sequence[Result]) -> DataFrame:
    """Return one row per result, as text: the changes, the kind, the runs; "?" for unknown.

    A question mark after a type of number says that it was not reported and is our inference.
    """
    from pandas import DataFrame

    names = [result.name for result in results]
    frame = DataFrame([_row(result) for result in results], index=names)
    return frame.rename_axis(columns="run")  # else the first cell of its header is empty


@dataclass(frozen=True)
class MarkdownTable:
    """A table whose text a notebook shows as a table; anywhere else it reads as text."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def sources(results: Sequence[Result]) -> MarkdownTable:
    """Return where each result is from, with links, and what else one must know of it."""
    rows = [(r.name, r.kind, _linked(r.source), _linked(r.note)) for r in results]
    head = [("run", "kind", "source", "remark"), ("---",) * 4]
    lines = ("| " + " | ".join(_one_cell(text) for text in row) + " |" for row in [*head, *rows])
    return MarkdownTable("\n".join(lines))


def sentence(result: Result) -> str:
    """Return the factor and its circumstances in words, for a figure's text alternative."""
    run, base = result.amp.precision.upper(), result.baseline.precision.upper()
    remarks = [result.kind]
    if result.baseline_inferred:
        remarks.append(f"that the baseline was {base} is our inference")
    if result.doubt:
        remarks.append(result.doubt)
    return (
        f"{result.name}, {result.task}: {run} {result.speedup:.2f} times as fast as {base} "
        f"({'; '.join(remarks)})"
    )


def _row(result: Result) -> dict[str, str]:
    # Memory and speed first: a narrow page cuts what stands on the right.
    base, amp = result.baseline, result.amp
    return {
        "memory": _change(result.memory_change),
        "speed": f"{result.speedup:.2f}×",
        "kind": result.kind,
        "baseline": f"{result.baseline_name} {base.value:g} {result.unit}",
        "mixed precision": f"{amp.precision.upper()} {amp.value:g} {result.unit}",
        "accuracy": f"{_share(base.accuracy)} → {_share(amp.accuracy)}",
    }


def _change(change: float | None) -> str:
    return "?" if change is None else f"{change:+.0%}".replace("-", "\N{MINUS SIGN}")


def _share(accuracy: float | None) -> str:
    return "?" if accuracy is None else f"{accuracy:.1%}"


def _linked(text: str) -> str:
    # The host and two steps of the path are enough to read; the link holds all of it.
    return re.sub(_ADDRESS, lambda found: f"[{_breakable(found[1])}]({found[0]})", text)


def _breakable(address: str) -> str:
    # A page breaks no address by itself, and a column as wide as one leaves the next no room.
    return address.replace("/", "/\N{ZERO WIDTH SPACE}")


def _one_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
