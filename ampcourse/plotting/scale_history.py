"""Draw how the loss scale went, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREY, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {"step": "step", "scale": "loss scale", "skipped": "step skipped"}
_LOOKS = ((BLUE, "-"), (GREY, "--"), (INK, ":"))


@styled
def scale_history(curves: Mapping[str, Sequence[float]]) -> Axes:
    """Draw the scale after each step of some runs, with a cross where a step was skipped.

    A step was skipped where the scale is smaller than the one before. Raises ValueError where
    there is no run, and for a scale that is not above 0.
    """
    if not curves or not all(scale > 0 for scales in curves.values() for scale in scales):
        raise ValueError("scales must be above 0, and there must be a run to draw")
    ax = new_axes(height=3.0)
    ax.set_yscale("log", base=2)
    crosses = []
    for (name, scales), (colour, dashes) in zip(curves.items(), cycle(_LOOKS)):
        steps = range(1, len(scales) + 1)
        ax.plot(
            steps, scales, dashes, color=colour, linewidth=1.8, drawstyle="steps-mid", label=name
        )
        pairs = enumerate(pairwise(scales), 2)
        crosses += [(step, after) for step, (before, after) in pairs if after < before]
    if crosses:
        ax.plot(*zip(*crosses, strict=True), "x", color=VERMILLION, label=WORDS["skipped"])
    ax.set_xlabel(WORDS["step"])
    ax.set_ylabel(WORDS["scale"])
    ax.grid(True)
    ax.legend(loc="best")
    return ax
