"""Put comparisons into a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ampcourse.benchmark.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame


def table(results: Sequence[Result]) -> DataFrame:
    """Return one row per result, as text: the runs, the factor, the changes; "?" for unknown."""
    from pandas import DataFrame

    rows = [_row(result) for result in results]
    return DataFrame(rows).set_index("hardware")


def sentence(result: Result) -> str:
    """Return the factor and its circumstances in words, for a figure's text alternative."""
    run, base = result.amp.precision.upper(), result.baseline.precision.upper()
    return (
        f"{result.hardware}, {result.task}: {run} {result.speedup:.2f} times as fast as {base} "
        f"({result.kind})"
    )


def _row(result: Result) -> dict[str, str]:
    base, amp = result.baseline, result.amp
    return {
        "hardware": result.hardware,
        "task": result.task,
        "baseline": f"{base.precision.upper()} {base.value:g} {result.unit}",
        "mixed precision": f"{amp.precision.upper()} {amp.value:g} {result.unit}",
        "speed": f"{result.speedup:.2f}×",
        "memory": _change(result.memory_change),
        "accuracy": f"{_share(base.accuracy)} → {_share(amp.accuracy)}",
    }


def _change(change: float | None) -> str:
    return "?" if change is None else f"{change:+.0%}".replace("-", "\N{MINUS SIGN}")


def _share(accuracy: float | None) -> str:
    return "?" if accuracy is None else f"{accuracy:.1%}"
