"""Draw measured rates beside the highest ones that the hardware allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREY, INK, VERMILLION, WIDTH, new_axes, small, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class RateBar:
    """A recipe's images per second, its limit if known, and whether the host was what limited it.

    `group` says of what: only bars of one group may be compared.
    """

    recipe: str
    group: str
    rate: float
    limit: float | None = None
    host_bound: bool = False


# By whether the host was the limit.
_LOOKS = MappingProxyType({False: (BLUE, "o", "measured"), True: (VERMILLION, "D", "host-bound")})


@styled
def benchmark_rows(bars: Sequence[RateBar]) -> Axes:
    """Draw one point per recipe, under the title of its group; a line leads to its limit.

    The scale is logarithmic: twice as fast is equally far everywhere. A host-bound rate is a
    diamond. Raises ValueError where there is no rate, and for one that is not above 0.
    """
    _check(bars)
    lines = _lines(bars)
    ax = new_axes(WIDTH, 0.9 + 0.27 * len(lines))
    ax.set_xscale("log")
    ends = [end for bar in bars for end in (bar.rate, bar.limit) if end is not None]
    left = min(ends) / 1.3
    ax.set_xlim(left, left * (max(ends) / left) ** 1.55)  # a third is for the numbers on the right
    for place, line in enumerate(lines):
        if isinstance(line, RateBar):
            _draw(ax, place, line)
        else:
            across = ax.get_yaxis_transform()
            ax.text(0.01, place, line, va="center", fontweight="bold", transform=across)
    places = [place for place, line in enumerate(lines) if isinstance(line, RateBar)]
    ax.set_yticks(places, [bar.recipe for bar in lines if isinstance(bar, RateBar)])
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.set_xlabel("images per second", loc="right")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter("")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    ax.legend(once.values(), once.keys(), loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
    return ax


def _check(bars: Sequence[RateBar]) -> None:
    if not bars:
        raise ValueError("there is no rate to draw; give one RateBar or more")
    for bar in bars:
        if not (bar.rate > 0 and (bar.limit is None or bar.limit > 0)):
            raise ValueError(
                f"{bar.recipe}: rate {bar.rate} and limit {bar.limit} must be above 0 (no limit: "
                "None)"
            )


def _lines(bars: Sequence[RateBar]) -> list[str | RateBar]:
    groups: dict[str, list[RateBar]] = {}
    for bar in bars:
        groups.setdefault(bar.group, []).append(bar)
    found: list[str | RateBar] = []
    for title, members in groups.items():
        found += [title, *members]
    return found


def _draw(ax: Axes, place: int, bar: RateBar) -> None:
    color, marker, label = _LOOKS[bar.host_bound]
    if bar.limit is not None:
        ax.plot([bar.rate, bar.limit], [place, place], color=GREY, linewidth=1, zorder=1)
        ax.plot(bar.limit, place, "|", color=INK, markersize=12, markeredgewidth=2, label="limit")
    ax.plot(bar.rate, place, marker, color=color, markersize=7, label=label)
    share = f", {bar.rate / bar.limit:.0%} of its limit" if bar.limit else ""
    ax.annotate(
        f"{bar.rate:,.0f}{share}",
        (max(bar.rate, bar.limit or 0), place),
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        fontsize=small(),
    )
