"""Draw how many times as fast mixed precision was, one row per comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREEN, INK, VERMILLION, WIDTH, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ampcourse.benchmark import Result

_LOOKS = MappingProxyType(
    {"published": (BLUE, "o"), "quoted": (VERMILLION, "D"), "measured": (GREEN, "s")}
)
_TICKS = (0.125, 0.25, 0.5, 1, 2, 4, 8)


@styled
def speedups(results: Sequence[Result], guess: Mapping[str, float] | None = None) -> Axes:
    """Draw the speed-up of each result on a scale where twice and half are equally far from 1.

    `guess` maps hardware to the factor somebody predicted, drawn as a cross in the same row;
    a guess for hardware that is not among the results is left out.
    """
    ax = new_axes(WIDTH, 0.9 + 0.36 * len(results))
    rows = range(len(results) - 1, -1, -1)
    ax.set_xscale("log", base=2)
    ax.axvline(1, color=INK, linewidth=1.2)
    for row, result in zip(rows, results, strict=True):
        _draw_row(ax, row, result)
        if guess and result.hardware in guess:
            ax.plot(guess[result.hardware], row, "x", color=INK, markersize=8, label="your guess")
    _label(ax, rows, results, guess)
    return ax


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
    ax: Axes, rows: Sequence[int], results: Sequence[Result], guess: Mapping[str, float] | None
) -> None:
    factors = [result.speedup for result in results] + list((guess or {}).values())
    ax.set_xticks(_TICKS, [f"{tick:g}×" for tick in _TICKS])
    ax.minorticks_off()
    ax.set_xlim(min(0.7, *factors) / 1.5, max(2, *factors) * 1.5)
    ax.set_yticks(list(rows), [_name(result) for result in results])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    ax.set_xlabel("slower  ←  mixed precision against its baseline  →  faster")
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    ax.legend(once.values(), once.keys(), loc="lower right", bbox_to_anchor=(1, 1), ncols=4)


def _name(result: Result) -> str:
    run, base = result.amp.precision.upper(), result.baseline.precision.upper()
    return f"{result.hardware} · {run} over {base}\n{result.task}"
