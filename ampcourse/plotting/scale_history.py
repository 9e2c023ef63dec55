"""Draw how the loss scale went, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {"step": "step", "scale": "loss scale", "skipped": "mark: step skipped"}
# Colour, dashes, and the marks of skipped steps, which can be told apart where they coincide.
_LOOKS = ((BLUE, "-", "x"), (VERMILLION, "--", "o"), (INK, ":", "+"))


@styled
def scale_history(curves: Mapping[str, Sequence[float]]) -> Axes:
    """Draw the scale after each step of some runs, with a mark where a step was skipped.

    A step was skipped where the scale is smaller than the one before. Raises ValueError where
    there is no run, and for a scale that is not above 0.
    """
    if not curves or not all(scale > 0 for scales in curves.values() for scale in scales):
        raise ValueError("scales must be above 0, and there must be a run to draw")
    ax = new_axes(height=3.0)
    ax.set_yscale("log", base=2)
    marked = False
    for (name, scales), (colour, dashes, mark) in zip(curves.items(), cycle(_LOOKS)):
        skipped = [k for k, (before, after) in enumerate(pairwise(scales), 1) if after < before]
        marked = marked or bool(skipped)
        ax.plot(
            range(1, len(scales) + 1), scales, dashes, color=colour, linewidth=1.8, label=name,
            drawstyle="steps-mid", marker=mark, markevery=skipped, fillstyle="none", markersize=9,
        )  # fmt: skip
    ax.set_xlabel(WORDS["step"])
    ax.set_ylabel(WORDS["scale"])
    ax.grid(True)
    ax.legend(loc="best", title=WORDS["skipped"] if marked else None)
    return ax
