"""Draw what memory is used for: stacked bars by use, and bars of saved bytes layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import (
    BLUE,
    CARD,
    GREEN,
    GREY,
    INK,
    PURPLE,
    RULE,
    VERMILLION,
    new_axes,
    small,
    styled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

#: The words of the figures, all in one place.
WORDS = {"size": "MiB", "fp32": "FP32", "saved": "KiB saved for the backward pass"}

#: Colour and hatch of each use: no two uses differ in colour alone.
LOOKS: Mapping[str, tuple[str, str]] = {
    "weights": (BLUE, ""),
    "master weights": (BLUE, "//"),
    "weight casts": (BLUE, ".."),
    "gradients": (VERMILLION, ""),
    "optimizer state": (GREEN, "\\\\"),
    "activations": (RULE, ""),
    "temporary": (PURPLE, "xx"),
    "rest": (INK, ""),
}


#: Where a label stands: a little behind the end of its bar.
BEHIND: Mapping[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}


@styled
def memory_bars(bars: Mapping[str, Mapping[str, int]], total: bool = True) -> Axes:
    """Return Axes with one stacked bar per entry, from top to bottom, in MiB.

    Each entry maps uses to bytes, the uses as in `LOOKS`; all others are drawn together as the
    rest. With `total`, the sum stands behind each bar.
    """
    ax = new_axes(height=1.1 + 0.38 * len(bars))
    places = range(len(bars) - 1, -1, -1)
    for place, held in zip(places, bars.values(), strict=True):
        left = 0.0
        for use, size in _gathered(held).items():
            colour, hatch = LOOKS[use]
            options: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": CARD}
            ax.barh(place, size / 2**20, 0.7, left, label=use, **options)
            left += size / 2**20
        if total:
            ax.annotate(f"{left:,.0f}", (left, place), **BEHIND)
    ax.set_yticks(list(places), list(bars))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(WORDS["size"])
    ax.margins(x=0.1)
    ax.grid(axis="x")
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    shown = [use for use in LOOKS if use in once]
    columns = 4 if small() < 10 else 2  # letters of a slide need the room
    place_legend: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    ax.legend([once[u] for u in shown], shown, ncols=columns, **place_legend)
    return ax


def _gathered(held: Mapping[str, int]) -> dict[str, int]:
    """Return the uses in the order of LOOKS, those without a look as the rest, none of 0."""
    found = {use: held.get(use, 0) for use in LOOKS}
    found["rest"] += sum(size for use, size in held.items() if use not in LOOKS)
    return {use: size for use, size in found.items() if size}


@styled
def layer_bars(layers: Mapping[str, tuple[int, int]], names: tuple[str, str]) -> Axes:
    """Return Axes with two bars per layer, bytes under one recipe and under the other, in KiB.

    `names` are those of the recipes; behind the second bar stands its share of the first.
    """
    ax = new_axes(height=0.9 + 0.5 * len(layers))
    places = range(len(layers) - 1, -1, -1)
    for i, (colour, hatch) in enumerate(((GREY, ""), (BLUE, "//"))):
        sizes = [pair[i] / 1024 for pair in layers.values()]
        heights = [place + 0.2 - 0.4 * i for place in places]
        options: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": CARD}
        ax.barh(heights, sizes, 0.38, label=names[i], **options)
    for place, (first, second) in zip(places, layers.values(), strict=True):
        if first:
            told = f"{second / first:.0%} of {names[0]}"
            ax.annotate(told, (second / 1024, place - 0.2), fontsize=small(), **BEHIND)
    ax.set_yticks(list(places), list(layers))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(WORDS["saved"])
    ax.grid(axis="x")
    ax.legend(loc="lower right")
    return ax
