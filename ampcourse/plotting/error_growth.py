"""Draw how the error of a sum grows with the number of its terms."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from ampcourse.plotting.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PURPLE,
    VERMILLION,
    new_axes,
    styled,
    text_shade,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

# One look per curve: colour, marker and dashes differ together.
_LOOKS = (
    (VERMILLION, "v", "-"),
    (PURPLE, "s", "--"),
    (BLUE, "^", "-"),
    (GREEN, "D", "-."),
    (GREY, "o", "-"),
    (INK, "x", ":"),
    (BLUE, "P", "--"),
    (VERMILLION, "*", ":"),
)
#: Room for one label, as a share of the axis.
_LABEL_HEIGHT = 0.06


@styled
def error_growth(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    unit: str = "relative error",
    terms: str = "number of products, K",
) -> Axes:
    """Return one line per accumulator over the number of terms, both axes in powers of two.

    `curves` maps a label to (number of terms, error) pairs; errors of 0 are left out, since a
    logarithmic axis has no place for them. Each label stands at the end of its line, or just above
    the label below it where lines end together.
    """
    ax = new_axes(height=4.2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ends: dict[str, tuple[int, float, str]] = {}
    for (label, points), (colour, marker, dashes) in zip(curves.items(), cycle(_LOOKS)):
        shown = [(count, error) for count, error in points if error > 0]
        if shown:
            xs, ys = zip(*shown, strict=True)
            ax.plot(xs, ys, dashes, color=colour, marker=marker, markersize=5, label=label)
            ends[label] = (xs[-1], ys[-1], colour)
    _label(ax, ends)
    ax.set_xticks(sorted({count for points in curves.values() for count, _ in points}))
    ax.grid(True)
    ax.set_xlim(right=ax.get_xlim()[1] * 6)  # room for the labels
    ax.set_xlabel(terms)
    ax.set_ylabel(unit)
    return ax


def _label(ax: Axes, ends: Mapping[str, tuple[int, float, str]]) -> None:
    """Write each label beside the last point of its line, from the lowest up."""
    bottom, top = ax.get_ylim()
    step = (top / bottom) ** _LABEL_HEIGHT  # a factor: the axis is logarithmic
    free = 0.0
    for label, (x, y, colour) in sorted(ends.items(), key=lambda end: end[1][1]):
        y = max(y, free)
        free = y * step
        ax.set_ylim(bottom, max(top, free))
        ax.annotate(
            label, (x, y), (8, 0), color=text_shade(colour), va="center", weight="bold",
            textcoords="offset points",
        )  # fmt: skip
