"""Draw where the numbers of a format lie: on the line, over the binades, from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import (
    BLUE,
    CARD,
    FORMATS,
    GREY,
    INK,
    VERMILLION,
    new_axes,
    styled,
    text_shade,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

# Kind of number → colour, height of its tick, marker on top: colour is never the only cue.
_TICKS = {
    "zero": (INK, 0.5, "o"),
    "subnormal": (VERMILLION, 0.34, "v"),
    "normal": (BLUE, 0.5, "|"),
}


@styled
def number_line(rows: Mapping[str, Sequence[tuple[float, str]]]) -> Axes:
    """Return one line of ticks per row: `rows` maps a label to its (value, kind) pairs.

    The kinds are "zero", "subnormal" and "normal"; the first row comes on top.
    """
    ax = new_axes(height=1.0 + 0.75 * len(rows))
    for row, numbers in enumerate(rows.values()):
        y = -row
        ax.axhline(y, color=GREY, linewidth=0.8)
        for kind, (colour, height, marker) in _TICKS.items():
            xs = [value for value, this in numbers if this == kind]
            label = kind if y == 0 else None
            ax.vlines(xs, y, y + height, color=colour, linewidth=1.6)
            ax.scatter(xs, [y + height] * len(xs), 22, colour, marker=marker, label=label)
    ax.set_ylim(0.9 - len(rows), 0.7)
    ax.set_yticks([0.2 - row for row in range(len(rows))], list(rows))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("value")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
    return ax


@styled
def gaps(curves: Mapping[str, Sequence[tuple[int, int, int]]]) -> Axes:
    """Return a staircase per format: the distance from a number to its neighbour.

    `curves` maps a format's name to steps (from, to, gap), all three exponents of two.
    """
    ax = new_axes(height=3.8)
    for name, steps in curves.items():
        edges = [low for low, _, _ in steps] + [steps[-1][1]]
        heights = [gap for _, _, gap in steps]
        colour = FORMATS[name]
        ax.stairs(heights, edges, baseline=None, linewidth=2, color=colour)
        end = (edges[-1] + 0.4, heights[-1])
        ax.text(*end, name, color=text_shade(colour), va="center", weight="bold")
    ax.grid(True)
    ax.margins(x=0.08)
    ax.set_xlabel("size of the number: exponent of two")
    ax.set_ylabel("gap to the next: exponent of two")
    return ax


@styled
def ranges(rows: Mapping[str, tuple[float, float, float]]) -> Axes:
    """Return one bar per format, from its smallest positive number to its largest.

    `rows` maps a format's name to three exponents of two: smallest positive number, smallest
    normal number, largest. The hatched part is where subnormals live; the first row comes on top.
    """
    ax = new_axes(height=0.7 + 0.28 * len(rows))
    for row, (name, (smallest, normal, largest)) in enumerate(rows.items()):
        colour = FORMATS[name]
        ax.barh(-row, largest - normal, 0.6, normal, color=colour, edgecolor=colour)
        ax.barh(-row, normal - smallest, 0.6, smallest, color=CARD, edgecolor=colour, hatch="////")
    ax.use_sticky_edges = False  # room on both sides of the longest bar
    ax.set_yticks([-row for row in range(len(rows))], list(rows))
    ax.grid(True, axis="x")
    ax.set_xlabel("size of the number: exponent of two (hatched: subnormal)")
    return ax
