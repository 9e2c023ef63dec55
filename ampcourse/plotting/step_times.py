"""Draw the times of single steps in the order in which they were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, GREY, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {"step": "step, in the order measured"}
_LOOKS = ((GREY, "x"), (BLUE, "o"), (VERMILLION, "s"))


@styled
def step_times(
    groups: Mapping[str, Sequence[float]], lines: Mapping[str, float], unit: str
) -> Axes:
    """Return the times of each group, one behind the other, on a logarithmic axis.

    `lines` are values with names, such as mean and median, drawn across the last group.
    """
    ax = new_axes(height=2.8)
    ax.set_yscale("log")
    at = 1
    for (name, times), (colour, marker) in zip(groups.items(), _LOOKS, strict=False):
        places = range(at, at + len(times))
        ax.plot(places, times, marker, color=colour, markersize=7, label=name)
        at += len(times)
    last = list(groups.values())[-1]
    ends = at - len(last) - 0.4, at - 0.6
    for (name, value), dashes in zip(lines.items(), (":", "-", "--"), strict=False):
        ax.plot(ends, (value, value), dashes, color=INK, linewidth=1.6, label=name)
    ax.set_xticks(range(1, at))
    ax.set_xlabel(WORDS["step"])
    ax.set_ylabel(unit)
    ax.set_yticks(_ticks(groups), [f"{tick:,}" for tick in _ticks(groups)])
    ax.minorticks_off()
    ax.grid(axis="y")
    ax.legend(loc="upper right")
    return ax


def _ticks(groups: Mapping[str, Sequence[float]]) -> list[int]:
    every = [time for times in groups.values() for time in times]
    steps = [digit * 10**power for power in range(8) for digit in (1, 3)]
    return [tick for tick in steps if min(every) / 3.2 <= tick <= max(every) * 1.1]
