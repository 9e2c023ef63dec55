"""Draw training loops beside what they were meant to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import GREY, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {"step": "batch", "loss": "loss", "meant": "as meant, FP32", "loop": "the loop"}


@styled
def loop_pairs(
    panels: Mapping[str, tuple[Sequence[float], Sequence[float]]], columns: int = 3
) -> Axes:
    """Return the first of several Axes in a grid, one per loop, on the same scales.

    `panels` maps a title to two courses of the loss: of the loop, and of what was meant. A loop
    that turns into NaN ends there, with a cross; one that leaves the range of what was meant by
    far runs out of its panel. A free place holds the legend.
    """
    every = [loss for _, meant in panels.values() for loss in meant]
    low, high = min(every), max(every)
    rows = -(-len(panels) // columns)
    figure = new_axes(height=0.5 + 1.9 * rows).figure
    figure.clear()
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for ax, (title, (loop, meant)) in zip(grid.flat, panels.items(), strict=False):
        ax.plot(meant, "--", color=GREY, linewidth=2, label=WORDS["meant"])
        ax.plot(loop, "-", color=VERMILLION, linewidth=1.5, label=WORDS["loop"])
        finite = [loss for loss in loop if loss == loss]
        if finite and len(finite) < len(loop):
            ax.plot(len(finite) - 1, finite[-1], "X", color=VERMILLION, markersize=8)
        ax.set_title(title)
        ax.grid(True)
        ax.set_ylim(low - 0.1 * (high - low), high + 0.25 * (high - low))
    for ax in grid.flat[max(0, len(panels) - columns) : len(panels)]:  # the lowest of each column
        ax.set_xlabel(WORDS["step"])
        ax.tick_params(labelbottom=True)
    for ax in grid[:, 0]:
        ax.set_ylabel(WORDS["loss"])
    empty = grid.flat[len(panels) :]
    for ax in empty:
        ax.set_axis_off()
    place = empty[0] if len(empty) else grid[0, 0]
    place.legend(handles=grid[0, 0].lines[:2], loc="center" if len(empty) else "upper right")
    first: Axes = grid[0, 0]
    return first
