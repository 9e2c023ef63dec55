"""Draw a device's roof with the layers under it, and where the least time of a step goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import (
    BLUE,
    CARD,
    GREEN,
    GREY,
    INK,
    PURPLE,
    VERMILLION,
    new_axes,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {
    "time": "least time of a step, ms",
    "rest": "other",
    "relu": "ReLU",
    "add": "sum",
    "intensity": "operations per byte",
    "rate": "TFLOP/s at most",
}
# Colour and pattern differ together; what is not named here is drawn as the rest.
_LOOKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "convolution": (BLUE, ""),
        "batch norm": (VERMILLION, "//"),
        "relu": (GREEN, "x"),
        "add": (PURPLE, "-"),
        WORDS["rest"]: (GREY, ""),
    }
)
# One look per group of layers: colour and marker differ together.
_DOTS = ((BLUE, "o"), (VERMILLION, "^"), (GREY, "s"), (INK, "X"))
_LINES = ((GREY, "--", 1.8), (INK, "-", 2.6))


@styled
def roofline(
    roofs: Mapping[str, Sequence[tuple[float, float]]],
    layers: Mapping[str, Sequence[tuple[float, float]]],
    limits: tuple[tuple[float, float], tuple[float, float]],
) -> Axes:
    """Return layers under a roof, both axes in powers of two.

    `roofs` maps one name or two to the corners of a line, `layers` a name to its dots; both are
    (operations per byte, TFLOP/s). Of two roofs the first is dashed: what was before. `limits` are
    the ends of both axes, the same for figures that are shown one after the other. Raises
    ValueError for another number of roofs.
    """
    if not 1 <= len(roofs) <= len(_LINES):
        raise ValueError(f"{len(roofs)} roofs; give one, or the one before and the one now")
    ax = new_axes(height=3.6)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    for (name, corners), (colour, dashes, width) in zip(
        roofs.items(), _LINES[-len(roofs) :], strict=True
    ):
        xs, ys = zip(*corners, strict=True)
        ax.plot(xs, ys, dashes, color=colour, linewidth=width)
        place: dict[str, Any] = {
            "xytext": (-2, 4),
            "textcoords": "offset points",
            "ha": "right",
            "va": "bottom",
        }
        ax.annotate(name, (limits[0][1], ys[-1]), color=colour, weight="bold", **place)
    for (name, dots), (colour, marker) in zip(layers.items(), _DOTS, strict=False):
        xs, ys = zip(*dots, strict=True)
        size = 14 if marker == "X" else 9
        edges: dict[str, Any] = {"markeredgecolor": CARD, "markeredgewidth": 0.6}
        ax.plot(xs, ys, marker, color=colour, markersize=size, label=name, **edges)
    for axis, (low, high) in zip((ax.xaxis, ax.yaxis), limits, strict=True):
        ticks = [4.0**power for power in range(-2, 9) if low <= 4.0**power <= high]
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xlim(*limits[0])
    ax.set_ylim(*limits[1])
    ax.grid(True)
    ax.set_xlabel(WORDS["intensity"])
    ax.set_ylabel(WORDS["rate"])
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(layers), handletextpad=0.2)
    return ax


@styled
def time_by_kind(parts: Mapping[str, Mapping[str, float]], columns: int = 5) -> Axes:
    """Return one bar per recipe, cut into kinds of layers; `parts` maps recipe to kind to seconds.

    Kinds that have no look of their own are one part, at the end. The legend has `columns` columns.
    """
    ax = new_axes(height=1.3 + 0.5 * len(parts))
    rows = range(len(parts) - 1, -1, -1)
    for row, kinds in zip(rows, parts.values(), strict=True):
        _bar(ax, row, _merged(kinds))
    ax.margins(x=0.12)  # the total stands behind the longest bar
    ax.set_yticks(list(rows), list(parts))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(WORDS["time"])
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    ax.legend(
        once.values(), once.keys(), loc="lower center", bbox_to_anchor=(0.5, 1), ncols=columns
    )
    return ax


def _merged(kinds: Mapping[str, float]) -> dict[str, float]:
    named = {kind: kinds[kind] for kind in _LOOKS if kind in kinds}
    rest = sum(seconds for kind, seconds in kinds.items() if kind not in named)
    return {**named, WORDS["rest"]: named.get(WORDS["rest"], 0.0) + rest}


def _bar(ax: Axes, row: int, kinds: Mapping[str, float]) -> None:
    left, total = 0.0, 1000 * sum(kinds.values())
    for kind, seconds in kinds.items():
        colour, hatch = _LOOKS[kind]
        length = 1000 * seconds
        ax.barh(
            row, length, 0.62, left,
            color=colour, hatch=hatch, edgecolor=CARD, label=WORDS.get(kind, kind),
        )  # fmt: skip
        left += length
    ax.annotate(
        f"{total:.0f} ms", (left, row), (6, 0), textcoords="offset points", va="center", color=INK
    )
