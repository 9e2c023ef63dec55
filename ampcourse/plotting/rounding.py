"""Draw what rounding does: what a number swallows, where numbers go, how a sum runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    RULE,
    VERMILLION,
    new_axes,
    styled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

# Colour, line style and width of the curves of a sum, in the order they come: the first is the
# broad band that the others keep to or leave.
_CURVES = ((GREY, "-", 8.0), (VERMILLION, "--", 2.0), (BLUE, "-", 1.4), (GREEN, ":", 2.6))


@styled
def lost_zones(
    rows: Mapping[str, tuple[Sequence[float], float, float]], unit: str, wide: str = "lost"
) -> Axes:
    """Return one line per number: its neighbours, and hatched the updates that it swallows.

    `rows` maps a label to (neighbours, below, above): distances from the number itself in
    multiples of `unit`. The first row comes on top.
    """
    ax = new_axes(height=0.9 + 0.7 * len(rows))
    for row, (neighbours, below, above) in enumerate(rows.values()):
        label = wide if row == 0 else None
        ax.barh(-row, above + below, 0.5, -below, color=RULE, edgecolor=VERMILLION, hatch="////",
                label=label)  # fmt: skip
        ax.axhline(-row, color=GREY, linewidth=0.8)
        ax.vlines(list(neighbours), -row - 0.2, -row + 0.2, color=BLUE, linewidth=1.6)
        ax.plot(0, -row, "o", color=INK, markersize=7)
    ax.set_yticks([-row for row in range(len(rows))], list(rows))
    ax.set_ylim(0.6 - len(rows), 0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"distance from the number, in units of {unit}")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1))
    return ax


@styled
def arrows(rows: Mapping[str, Sequence[tuple[float, float]]], grid: Sequence[float]) -> Axes:
    """Return one number line per mode, with an arrow from each number to where it goes.

    `rows` maps a mode to (before, after) pairs; `grid` holds the numbers of the format. The
    first row comes on top.
    """
    ax = new_axes(height=0.7 + 0.62 * len(rows))
    for row, moves in enumerate(rows.values()):
        ax.axhline(-row, color=GREY, linewidth=0.8)
        ax.vlines(list(grid), -row - 0.12, -row + 0.12, color=BLUE, linewidth=1.6)
        for before, after in moves:
            ax.plot(before, -row + 0.34, "o", color=VERMILLION, markersize=5)
            ax.annotate(
                "",
                (after, -row + 0.02),
                (before, -row + 0.34),
                arrowprops={"arrowstyle": "-|>", "color": VERMILLION, "shrinkA": 0, "shrinkB": 0},
            )
    ax.set_yticks([-row for row in range(len(rows))], list(rows))
    ax.set_ylim(0.6 - len(rows), 0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("value (bars: numbers of the format)")
    return ax


@styled
def running_sums(curves: Mapping[str, Sequence[float]], terms: Sequence[int]) -> Axes:
    """Return one curve per way of adding, up to four: the sum after so many of the `terms`."""
    ax = new_axes(height=3.6)
    for place, ((name, sums), look) in enumerate(zip(curves.items(), _CURVES, strict=False)):
        colour, line, width = look
        faint = 0.4 if place == 0 else 1.0
        ax.plot(terms, sums, line, color=colour, linewidth=width, alpha=faint, label=name)
    ax.grid(True)
    ax.set_xlabel("numbers added")
    ax.set_ylabel("sum")
    ax.legend(loc="upper left")
    return ax
