"""Draw how training went under different loss scales, and what became of the gradients."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREY, INK, VERMILLION, new_axes, small, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

#: The words of the figures, all in one place.
WORDS = {
    "step": "step",
    "loss": "training loss",
    "reference": "FP32",
    "exponent": "loss scale, as a power of two",
    "share": "% of all gradients",
    "zero": "zeros",
    "lost": "inf or NaN",
    "layer": "linear layer, counted from the input",
    "zeros": "% zeros in the weight gradient",
}
# One look per line: colour, marker and dashes differ together.
_LOOKS = ((GREY, "o", "-"), (VERMILLION, "v", "--"), (BLUE, "^", ":"), (INK, "s", "-."))
_DASHES = ("-", "--", ":")


@styled
def loss_grid(
    panels: Mapping[str, Sequence[Sequence[float]]],
    reference: Sequence[Sequence[float]] = (),
    columns: int = 2,
    reference_name: str = WORDS["reference"],
    every: int = 1,
    reference_width: float = 1,
) -> Axes:
    """Return the first of several Axes in a grid, one per training arm, on the same scales.

    `panels` maps a title to the losses of some runs, step by step; the runs of `reference`
    stand behind them in grey in every panel, and the legend calls them `reference_name`.
    From one loss to the next are `every` steps. A wide reference (`reference_width`, in points)
    is seen also where a run lies on it.
    """
    rows = -(-len(panels) // columns)
    figure = new_axes(height=0.5 + 2.1 * rows).figure
    figure.clear()
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)

    def steps(losses: Sequence[float]) -> range:
        return range(0, every * len(losses), every)

    for ax, (title, runs) in zip(grid.flat, panels.items(), strict=False):
        for losses, dashes in zip(reference, cycle(_DASHES), strict=False):
            width, text = reference_width, reference_name
            ax.plot(steps(losses), losses, dashes, color=GREY, linewidth=width, label=text)
        for losses, dashes in zip(runs, cycle(_DASHES), strict=False):
            ax.plot(steps(losses), losses, dashes, color=VERMILLION, linewidth=2, label=title)
        ax.set_title(title)
        ax.grid(True)
    for ax in grid[-1]:
        ax.set_xlabel(WORDS["step"])
    for ax in grid[:, 0]:
        ax.set_ylabel(WORDS["loss"])
    for ax in grid.flat[len(panels) :]:
        ax.set_axis_off()
    if reference:
        where = {"loc": "lower left", "handlelength": 1.2, "fontsize": small()}
        grid[0, 0].legend(handles=grid[0, 0].lines[:1], **where)
    first: Axes = grid[0, 0]
    return first


@styled
def scale_cliffs(points: Sequence[tuple[int, float, float]]) -> Axes:
    """Return two lines over the loss scale: the shares of zeros and of inf or NaN.

    `points` are (exponent of the scale, share of zeros, share of inf and NaN).
    """
    ax = new_axes()
    exponents, zeros, lost = zip(*points, strict=True)
    for shares, name, (colour, marker, dashes) in (
        (zeros, WORDS["zero"], _LOOKS[2]),
        (lost, WORDS["lost"], _LOOKS[1]),
    ):
        percent = [100 * share for share in shares]
        ax.plot(exponents, percent, dashes, color=colour, marker=marker, markersize=5, label=name)
    ax.set_xticks([exponent for exponent in exponents if exponent % 2 == 0])
    ax.set_ylim(-4, 104)
    ax.set_xlabel(WORDS["exponent"])
    ax.set_ylabel(WORDS["share"])
    ax.grid(True)
    ax.legend(loc="upper center", ncols=2)
    return ax


@styled
def layer_zeros(shares: Mapping[str, Sequence[float]]) -> Axes:
    """Return one line per arm: the share of zeros in each layer's gradient, first layer left."""
    ax = new_axes()
    for (label, row), (colour, marker, dashes) in zip(shares.items(), cycle(_LOOKS)):
        percent = [100 * share for share in row]
        layers = range(1, len(row) + 1)
        ax.plot(layers, percent, dashes, color=colour, marker=marker, markersize=6, label=label)
    count = max(map(len, shares.values()), default=0)
    ax.set_xticks(range(1, count + 1))
    ax.set_ylim(-4, 104)
    ax.set_xlabel(WORDS["layer"])
    ax.set_ylabel(WORDS["zeros"])
    ax.grid(True)
    ax.legend(loc="lower right")
    return ax
