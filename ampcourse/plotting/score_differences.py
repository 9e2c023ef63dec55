"""Draw differences of scores by seed, with the interval of their mean and the margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREY, INK, RULE, VERMILLION, WIDTH, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ampcourse.benchmark.equivalence import Equivalence

#: The words of the figure, all in one place.
WORDS = {
    "points": "percentage points above FP32",
    "seed": "one seed",
    "holds": "90 % interval, inside the margin",
    "open": "90 % interval, not inside",
    "margin": "margin",
}


@styled
def score_differences(found: Mapping[str, Equivalence]) -> Axes:
    """Draw a row per comparison: each seed's difference, the interval of the mean, the margin.

    Raises ValueError where there is nothing to draw or the margins are not all the same.
    """
    margins = {one.margin for one in found.values()}
    if len(margins) != 1:
        raise ValueError(f"margins {sorted(margins)}: give comparisons of one margin")
    margin = 100 * margins.pop()
    ax = new_axes(WIDTH, 1.3 + 0.36 * len(found))
    ax.axvspan(-margin, margin, color=RULE, alpha=0.5, label=WORDS["margin"])
    ax.axvline(0, color=GREY, linewidth=1)
    for place, one in enumerate(found.values()):
        points = [100 * difference for difference in one.differences]
        ax.plot(points, [place] * len(points), "o", color=INK, fillstyle="none", zorder=3)
        low, high = (100 * bound for bound in one.interval)
        colour, marker = (BLUE, "|") if one.holds else (VERMILLION, "d")
        label = WORDS["holds" if one.holds else "open"]
        ax.plot((low, high), (place, place), marker=marker, color=colour, linewidth=2, label=label)
    ax.lines[1].set_label(WORDS["seed"])
    ax.set_yticks(range(len(found)), list(found))
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.set_xlabel(WORDS["points"])
    ax.tick_params(axis="y", length=0)
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ax.figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2)
    return ax
