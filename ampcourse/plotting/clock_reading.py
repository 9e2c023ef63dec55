"""Draw what a clock around a step takes in: host, device, and where the clock was read."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import BLUE, CARD, GREY, INK, RULE, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {"host": "host", "device": "device", "clock": "clock", "time": "µs"}
# Lane → how high it stands; kind of span → face, edge, hatch: colour is never the only cue.
_LANES = ("device", "host", "clock")
_LOOKS = MappingProxyType(
    {"step": (BLUE, CARD, ""), "issue": (INK, INK, ""), "wait": (CARD, GREY, "//")}
)
#: A share of the axis: a narrower span has no room for its name.
_ROOM = 0.12


@styled
def clock_reading(
    spans: Sequence[tuple[str, str, str, float, float]],
    reading: tuple[float, float],
    told: str,
    until: float,
) -> Axes:
    """Return host and device from 0 to `until` with the time that a clock took in.

    A span is (lane, kind, name, start, end), its lane "host" or "device", its kind "step", "issue"
    or "wait". `reading` is when the clock was read; `told`, such as "40 µs", is what it made of it.
    Raises ValueError for a reading that ends before it begins.
    """
    first, last = reading
    if last < first:
        raise ValueError(f"reading={reading} ends before it begins; give (start, end)")
    ax = new_axes(height=2.9)
    ax.axvspan(first, last, color=RULE, alpha=0.55, linewidth=0)
    for lane, kind, name, start, end in spans:
        face, edge, hatch = _LOOKS[kind]
        y = _LANES.index(lane)
        ax.barh(y, end - start, 0.6, start, color=face, edgecolor=edge, hatch=hatch)
        if end - start > _ROOM * until:
            box = {"facecolor": face, "edgecolor": "none", "pad": 2}
            ink = CARD if kind == "step" else INK
            ax.text((start + end) / 2, y, name, color=ink, ha="center", va="center", bbox=box)
    ends: dict[str, Any] = {"color": VERMILLION, "linewidth": 2.4}
    ax.vlines((first, last), -0.4, 2.25, **ends)
    ax.hlines(2, first, last, **ends)
    ax.set_title(told)
    ax.set_xlim(-0.01 * until, until)
    ax.set_ylim(-0.45, 2.4)
    ax.set_yticks(range(len(_LANES)), [WORDS[lane] for lane in _LANES])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(WORDS["time"])
    return ax
