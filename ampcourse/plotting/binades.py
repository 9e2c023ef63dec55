"""Draw the numbers of a small format binade by binade, with the width of the gap in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import BLUE, INK, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# What a stretch's name begins with decides its look; the tick's height is the second cue.
_LOOKS = {"subnormal": (VERMILLION, 0.34), "binade": (BLUE, 0.5)}

# The share of the line that a stretch needs for words of its own, where all have some.
_ROOM = 0.1


@styled
def binades(
    stretches: Sequence[tuple[str, Sequence[float], float]], shown: int | None = None
) -> Axes:
    """Return a number line with the first `shown` stretches on it, all if None.

    A stretch is (name, its numbers in order, the gap between them); the name begins with
    "subnormal" or "binade". The gap of the last one that is shown is written over it; if
    `shown` is None, over all that are wide enough for words. The axis is that of all stretches,
    so that steps fit together. Raises ValueError for a `shown` that is not 1 to the number of
    stretches.
    """
    last = len(stretches) if shown is None else shown
    if not 1 <= last <= len(stretches):
        raise ValueError(f"shown={shown}; there are {len(stretches)} stretches to show")
    ax = new_axes(height=2.7)
    for place, (name, numbers, gap) in enumerate(stretches[:last], 1):
        colour, height = _LOOKS[name.split()[0]]
        ax.vlines(list(numbers), 0, height, color=colour, linewidth=2.2)
        start, end = numbers[0], numbers[-1] + gap
        roomy = shown is None and end - start > _ROOM * stretches[-1][1][-1]
        if roomy or (shown is not None and place == last):
            ax.annotate(
                "", (end, 0.62), (start, 0.62), arrowprops={"arrowstyle": "<->", "color": INK}
            )
            told = f"gap {gap:g}" if shown is None else f"{name}: gap {gap:g}"
            ax.text((start + end) / 2, 0.70, told, color=INK, ha="center", weight="bold")
    low, (_, numbers, gap) = stretches[0][1][0], stretches[-1]
    ax.set_xlim(low - 1.2, numbers[-1] + gap + 0.4)
    ax.set_ylim(0, 1.05)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("value")
    return ax
