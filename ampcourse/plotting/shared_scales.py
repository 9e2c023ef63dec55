"""Draw what becomes of a tensor's values when several of them share a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, CARD, INK, RULE, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sizes of the values as powers of two, what became of each, and (start, end, threshold) of
#: each block: what lies below the threshold, a power of two as well, becomes 0.
Row = tuple[Sequence[float], Sequence[str], Sequence[tuple[int, int, float]]]

#: The words of the figure, all in one place.
WORDS = {"size": "size, as a power of two", "place": "place in the tensor"}
# What becomes of a value → colour and marker: colour is never the only cue.
_LOOKS = MappingProxyType(
    {"kept": (BLUE, "o", 5), "flushed": (VERMILLION, "x", 6), "clamped": (VERMILLION, "^", 7)}
    | {"outlier": (INK, "D", 7)}
)


@styled
def shared_scales(rows: Mapping[str, Row], limits: tuple[float, float]) -> Axes:
    """Return the first of several Axes, one per way of sharing scales.

    `rows` maps a title to a tensor's values and blocks; a value is "kept", "flushed", that is
    rounded to 0, "clamped", cut to the largest number there is, or the "outlier". `limits` are the
    ends of the axis of sizes, the same in all; the zone that becomes 0 is hatched. Raises
    ValueError for no rows and for lists of different lengths.
    """
    if not rows:
        raise ValueError("there is nothing to draw; give one way of sharing scales or more")
    figure = new_axes(width=8.2, height=0.5 + 1.1 * len(rows)).figure
    figure.clear()
    panels = figure.subplots(len(rows), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for ax, (title, (sizes, fates, blocks)) in zip(panels, rows.items(), strict=True):
        if len(sizes) != len(fates):
            raise ValueError(f"{title}: {len(sizes)} sizes and {len(fates)} fates; give one each")
        _zones(ax, blocks, limits)
        for fate, (colour, marker, size) in _LOOKS.items():
            places = [i for i, this in enumerate(fates) if this == fate]
            heights = [min(max(sizes[i], limits[0]), limits[1]) for i in places]
            ax.plot(places, heights, marker, color=colour, markersize=size, label=fate)
        ax.set_title(title)
        ax.set_ylim(*limits)
        ax.grid(axis="y")
    panels[-1].set_xlabel(WORDS["place"])
    panels[len(panels) // 2].set_ylabel(WORDS["size"])
    panels[0].set_xlim(-0.8, len(next(iter(rows.values()))[0]) - 0.2)
    first: Axes = panels[0]
    return first


def _zones(ax: Axes, blocks: Sequence[tuple[int, int, float]], limits: tuple[float, float]) -> None:
    """Hatch what becomes 0 in each block, and mark where blocks begin."""
    low, high = limits
    for start, end, threshold in blocks:
        top = min(max(threshold, low), high)
        ax.fill_between(
            (start - 0.5, end - 0.5), low, top,
            facecolor=CARD, edgecolor=RULE, hatch="////", linewidth=0,
        )  # fmt: skip
        ax.plot((start - 0.5, end - 0.5), (top, top), "--", color=VERMILLION, linewidth=1.6)
        if start:
            ax.axvline(start - 0.5, color=INK, linewidth=1)
