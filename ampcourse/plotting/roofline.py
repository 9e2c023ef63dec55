"""Draw where the least time of a training step goes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

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
WORDS = {"time": "least time of a step, ms", "rest": "other", "relu": "ReLU", "add": "sum"}
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


@styled
def time_by_kind(parts: Mapping[str, Mapping[str, float]]) -> Axes:
    """Return one bar per recipe, cut into kinds of layers; `parts` maps recipe to kind to seconds.

    Kinds that have no look of their own are one part, at the end.
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
    ax.legend(once.values(), once.keys(), loc="lower center", bbox_to_anchor=(0.5, 1), ncols=5)
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
