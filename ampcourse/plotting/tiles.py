"""Draw which parts of three matrices one matrix instruction works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, CARD, GREEN, GREY, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Matrix → colour and hatch of its tile: colour is never the only cue.
_TILES = {"A": (BLUE, "////"), "B": (GREEN, "\\\\\\\\"), "D": (VERMILLION, "xxxx")}


@styled
def tiles(m: int, n: int, k: int, tile: tuple[int, int, int]) -> Axes:
    """Return A (m × k) beside D (m × n) and B (k × n) above it, with one tile of each hatched.

    `tile` is (rows of A, columns of B, depth), as in m16n8k16. Thin lines cut all three matrices
    into tiles; the hatched ones meet in the second row and column of tiles, where there is one.
    """
    rows, columns, depth = tile
    gap = 0.2 * max(m, n, k)
    ax = new_axes(width=5.4, height=4.6)
    top, left = min(rows, m - rows), min(columns, n - columns)
    # Name → place of its top left corner, size, tile size, place of the tile; y points down.
    matrices = {
        "A": ((-k - gap, 0), (k, m), (depth, rows), (0, top)),
        "B": ((0, -k - gap), (n, k), (columns, depth), (left, 0)),
        "D": ((0, 0), (n, m), (columns, rows), (left, top)),
    }
    for name, (corner, size, cell, place) in matrices.items():
        _matrix(ax, corner, size, cell)
        colour, hatch = _TILES[name]
        _rectangle(
            ax, (corner[0] + place[0], corner[1] + place[1]), cell, colour, hatch=hatch, linewidth=2
        )
    shapes = {"A": (m, k), "B": (k, n), "D": (m, n)}
    for name, ((x, y), (width, height), _, _) in matrices.items():
        text = f"{name}: {shapes[name][0]} × {shapes[name][1]}"
        label = f"C and {text}" if name == "D" else text
        under = y + height + 0.12 * gap
        ax.text(x + width / 2, under, label, ha="center", va="top", color=INK, weight="bold")
    ax.set_aspect("equal")
    ax.set_xlim(-k - 1.2 * gap, n + 0.2 * gap)
    ax.set_ylim(m + 0.6 * gap, -k - 1.2 * gap)
    ax.set_axis_off()
    return ax


def _matrix(
    ax: Axes, corner: tuple[float, float], size: tuple[int, int], cell: tuple[int, int]
) -> None:
    """Draw one matrix with the borders of its tiles."""
    (x, y), (width, height) = corner, size
    _rectangle(ax, corner, size, INK, facecolor=CARD)
    across, down = range(cell[0], width, cell[0]), range(cell[1], height, cell[1])
    ax.vlines([x + step for step in across], y, y + height, color=GREY, linewidth=0.6)
    ax.hlines([y + step for step in down], x, x + width, color=GREY, linewidth=0.6)


def _rectangle(
    ax: Axes,
    corner: tuple[float, float],
    size: tuple[int, int],
    colour: str,
    facecolor: str = "none",
    hatch: str = "",
    linewidth: float = 1.2,
) -> None:
    from matplotlib.patches import Rectangle

    box = Rectangle(corner, *size, edgecolor=colour, facecolor=facecolor, linewidth=linewidth)
    box.set_hatch(hatch)
    box.set_zorder(3 if hatch else 1)
    ax.add_patch(box)
