"""Draw how many times as fast mixed precision was, one row per comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from ampcourse.plotting.style import (
    BLUE,
    GREEN,
    INK,
    LETTERS,
    VERMILLION,
    WIDTH,
    new_axes,
    small,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ampcourse.benchmark import Result

_LOOKS = MappingProxyType(
    {"published": (BLUE, "o"), "quoted": (VERMILLION, "D"), "measured": (GREEN, "s")}
)
_TICKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16)


@styled
def speedups(results: Sequence[Result], guess: Mapping[str, float | None] | None = None) -> Axes:
    """Draw the speed-up of each result on a scale where twice and half are equally far from 1.

    `guess` maps hardware to the factor somebody predicted, drawn as a cross in the same row;
    a guess of None, or for hardware that is not among the results, is left out. Raises
    ValueError for a guess that is no factor above 0.
    """
    guesses = _checked(guess or {})
    grown = small() / LETTERS["small"]  # names of two long lines: the figure grows with them
    ax = new_axes(grown * WIDTH, grown * (0.9 + 0.42 * len(results)))
    rows = range(len(results) - 1, -1, -1)
    ax.set_xscale("log", base=2)
    ax.axvline(1, color=INK, linewidth=1.2)
    for row, result in zip(rows, results, strict=True):
        _draw_row(ax, row, result)
        if result.hardware in guesses:
            cross = guesses[result.hardware]
            ax.plot(cross, row, "x", color=INK, markersize=8, label="your guess")
    _label(ax, rows, results, guesses)
    return ax


def _checked(guess: Mapping[str, float | None]) -> dict[str, float]:
    for hardware, factor in guess.items():
        if factor is not None and not (isinstance(factor, int | float) and 0 < factor < math.inf):
            raise ValueError(
                f"the guess for {hardware} is {factor!r}; give a factor above 0, such as 2 for "
                "twice as fast and 0.5 for half as fast, or None for no guess"
            )
    return {hardware: factor for hardware, factor in guess.items() if factor is not None}


def _draw_row(ax: Axes, row: int, result: Result) -> None:
    (color, marker), factor = _LOOKS[result.kind], result.speedup
    ax.plot([1, factor], [row, row], color=color, linewidth=2)
    ax.plot(factor, row, marker, color=color, markersize=8, label=result.kind)
    right = factor >= 1
    ax.annotate(
        f"{factor:.2f}×",
        (factor, row),
        xytext=(8 if right else -8, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontweight="bold",
    )


def _label(
    ax: Axes, rows: Sequence[int], results: Sequence[Result], guesses: Mapping[str, float]
) -> None:
    factors = [result.speedup for result in results] + list(guesses.values())
    low, high = min(0.9, *factors), max(2, *factors)
    ax.set_xticks(_TICKS, [f"{tick:g}×" for tick in _TICKS])
    ax.minorticks_off()
    ax.set_xlim(low / 3, high * 1.7)  # room for the numbers beside the outer points
    ax.set_ylim(-0.6, len(results) - 0.4)
    ax.set_yticks(list(rows), [_name(result) for result in results])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    legend = "\n?: not reported, our inference" * any(r.baseline_inferred for r in results)
    words = "slower  ←  mixed precision against its baseline  →  faster"
    ax.set_xlabel(words + legend, loc="right")  # long names on the left leave too little room
    handles, labels = ax.get_legend_handles_labels()
    once = dict(sorted(zip(labels, handles, strict=True), key=lambda pair: pair[0] not in _LOOKS))
    ax.legend(once.values(), once.keys(), loc="lower right", bbox_to_anchor=(1, 1), ncols=4)


def _name(result: Result) -> str:
    run = result.amp.precision.upper()
    return f"{result.name} · {run} over {result.baseline_name}\n{result.doubt or result.task}"
