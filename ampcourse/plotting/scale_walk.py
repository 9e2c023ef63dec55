"""Draw a loss scale as it looks for the ceiling, one training step after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREY, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {"step": "training step", "scale": "loss scale", "ceiling": "above: inf in a gradient"}


@styled
def scale_walk(
    scales: Sequence[float],
    ceilings: Sequence[float],
    trackers: Sequence[int],
    shown: int | None = None,
) -> Axes:
    """Return the scales that the first `shown` steps ran with, all if None.

    `ceilings` holds the largest scale at which each step's gradients are finite, `trackers` the
    good steps in a row after it. A step under the ceiling is a dot with its tracker, one above
    it a cross: it is skipped. Raises ValueError for sequences of different lengths and for a
    `shown` that is not 1 to the number of steps.
    """
    last = len(scales) if shown is None else shown
    if not 1 <= last <= len(scales) or not len(scales) == len(ceilings) == len(trackers):
        raise ValueError(
            f"shown={shown} of {len(scales)} scales, {len(ceilings)} ceilings, "
            f"{len(trackers)} trackers: one of each per step, and 1 step or more"
        )
    ax = new_axes(height=3.0)
    ax.set_yscale("log", base=2)
    steps = range(1, len(scales) + 1)
    ax.step(steps, ceilings, where="mid", color=GREY, linestyle="--", label=WORDS["ceiling"])
    ax.step(steps[:last], scales[:last], where="mid", color=BLUE, linewidth=1.6)
    for step, scale, ceiling, tracker in zip(
        steps[:last], scales, ceilings, trackers, strict=False
    ):
        skipped = scale > ceiling
        mark, colour = ("X", VERMILLION) if skipped else ("o", BLUE)
        ax.plot(step, scale, mark, color=colour, markersize=10)
        told = "skip" if skipped else str(tracker)
        ax.annotate(told, (step, scale), (0, 9), textcoords="offset points", ha="center",
                    color=INK, weight="bold" if skipped else "normal")  # fmt: skip
    ax.set_xlim(0.3, len(scales) + 0.7)
    ax.set_ylim(min(scales) / 1.6, max(scales) * 2.6)
    ax.set_xticks(list(steps))
    ax.set_xlabel(WORDS["step"])
    ax.set_ylabel(WORDS["scale"])
    ax.legend(loc="upper right")
    return ax
