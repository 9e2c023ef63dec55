"""Draw an exponent histogram through the window of a format: what is kept, what turns to 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import (
    BLUE,
    CARD,
    GREY,
    INK,
    PALE,
    RULE,
    VERMILLION,
    new_axes,
    small,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ampcourse.dynamic_range import ScaledView

# Place of a bar → face, edge and hatch, as in the gradient window (widgets/static): what the
# format keeps is blue, what it loses is hatched in red. The hatch tells it without colour.
_LOOKS = {
    "below": (PALE, BLUE, None),
    "subnormal": (PALE, BLUE, None),
    "normal": (BLUE, CARD, None),
    "above": (CARD, VERMILLION, "xxxx"),
}
_FLUSHED = (CARD, VERMILLION, "////")
_ZERO = (GREY, CARD, None)

#: The words of the figure, all in one place.
WORDS = {
    "below": "too small",
    "subnormal": "subnormal",
    "normal": "normal",
    "above": "too large",
    "flushed": "rounds to 0",
    "zero": "0 already",
    "zeros": "zeros",
    "x": "size of the scaled value: exponent of two",
    "y": "% of all values",
    "lost": "inf, NaN",
}
_FAR = 24  # bins: an edge of the window further away than this is not shown
_WORD = 0.11  # of the axis: a part narrower than this has no room for its name
_WORD_SIZE = 9.75  # points: a slide's letters are larger, FP16's subnormal part is not


@styled
def exponents(
    view: ScaledView, limits: tuple[int, int] | None = None, counts: bool = False
) -> Axes:
    """Return the bars of a histogram after scaling, over the window of a format.

    A value that rounds to zero is hatched where it stands and once more in the column at the
    left, where it goes: that column has its own axis, from none to all of the values.
    Infinities and NaN have a bar at the right if there are any. The window ends at the format's
    largest number, which may lie inside a bar. ``limits``, the first exponent and one past the
    last, give several figures the same axis. With ``counts`` the legend tells numbers of values
    instead of shares, and those of the bars past the window, too.
    """
    ax = new_axes(height=3.4)
    low, high = limits or _limits(view)
    share = 100 / max(view.total, 1)
    top = 1.2 * max((share * (bar.kept + bar.flushed) for bar in view.bars), default=1.0)
    _draw_bars(ax, view, share)
    _draw_zeros(ax, view, share, counts)
    if counts:
        above = sum(bar.kept for bar in view.bars if bar.place == "above")
        face, edge, hatch = _LOOKS["above"]
        label = f"{WORDS['above']}: {above}"
        ax.bar(0, 0, label=label, color=face, edgecolor=edge, hatch=hatch)
    right = _draw_lost(ax, view, high, share)
    _draw_window(ax, view, (low, high), top)
    ax.set_xlim(low, right)
    ax.set_ylim(0, top)
    _label(ax, view, low, high)
    return ax


def _draw_bars(ax: Axes, view: ScaledView, share: float) -> None:
    for bar in view.bars:
        kept, flushed = share * bar.kept, share * bar.flushed
        face, edge, hatch = _LOOKS[bar.place]
        if kept:
            ax.bar(bar.exponent, kept, 1, align="edge", color=face, edgecolor=edge, hatch=hatch)
        if flushed:
            face, edge, hatch = _FLUSHED
            ax.bar(
                bar.exponent, flushed, 1, kept, align="edge",
                color=face, edgecolor=edge, hatch=hatch,
            )  # fmt: skip


def _draw_zeros(ax: Axes, view: ScaledView, share: float, counts: bool) -> None:
    """Draw the column of zeros beside the axes and put its two parts into the legend."""
    column = ax.inset_axes((-0.17, 0, 0.05, 1))
    for count, below, (face, edge, hatch), name in (
        (view.flushed, 0, _FLUSHED, WORDS["flushed"]),
        (view.zeros, view.flushed, _ZERO, WORDS["zero"]),
    ):
        height, bottom = share * count, share * below
        told = str(count) if counts else _percent(height)
        looks: dict[str, Any] = {"color": face, "edgecolor": edge, "hatch": hatch}
        column.bar(0, height, 1, bottom, **looks)
        ax.bar(0, 0, label=f"{name}: {told}", **looks)
    column.set_xlim(-0.5, 0.5)
    column.set_ylim(0, 100)
    column.set_xticks([0], [WORDS["zeros"]])
    column.set_yticks([0, 50, 100], ["0 %", "50 %", "100 %"])
    column.tick_params(axis="x", length=0)
    column.spines[["top", "right"]].set_visible(True)


def _draw_lost(ax: Axes, view: ScaledView, left: float, share: float) -> float:
    """Draw what was infinite or NaN already; return the right end of the axis."""
    lost = view.infs + view.nans
    if not lost:
        return left
    ax.bar(left + 1.5, share * lost, 1.6, color=INK, label=f"{WORDS['lost']}: {lost}")
    return left + 3


def _draw_window(ax: Axes, view: ScaledView, span: tuple[float, float], top: float) -> None:
    """Shade the format's range and mark where its parts begin, with their names on top."""
    end = math.log2(view.largest)
    edges = [span[0], view.smallest, view.normal, end, span[1]]
    for place, start, stop in zip(_LOOKS, edges, edges[1:], strict=False):
        left, right = max(start, span[0]), min(stop, span[1])
        if left >= right:
            continue
        if left > span[0]:
            ax.axvline(left, color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
        if place in ("subnormal", "normal"):
            ax.axvspan(left, right, color=RULE, alpha=0.4, zorder=0, linewidth=0)
        if right - left > _WORD * (span[1] - span[0]):
            size = min(small(), _WORD_SIZE)
            ax.text((left + right) / 2, top * 0.985, WORDS[place], ha="center", va="top", size=size)


def _label(ax: Axes, view: ScaledView, low: int, high: int) -> None:
    ax.set_xlabel(WORDS["x"])
    ax.set_ylabel(WORDS["y"])
    step = 4 if high - low <= 48 else 8 if high - low <= 96 else 32
    ax.set_xticks([tick for tick in range(low, high + 1) if tick % step == 0])
    scale = f" × 2^{view.shift}" if view.shift else ""
    ax.set_title(f"{view.label}{scale} in {view.format}".strip(), pad=24)
    ax.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=3, fontsize=small(), borderpad=0.2
    )


def _limits(view: ScaledView) -> tuple[int, int]:
    """Return an axis that shows all bars, and the window unless that is far away."""
    if not view.bars:
        return view.smallest - 2, view.end + 2
    first, last = view.bars[0].exponent, view.bars[-1].exponent + 1
    low = min(first, max(view.smallest - 4, first - _FAR))
    return low, max(last, min(view.end + 4, last + _FAR))


def _percent(share: float) -> str:
    return f"{share:.1f} %" if share >= 0.05 or share == 0 else "< 0.1 %"
