"""Draw what ranks do, step by step: a row per rank, a cell per step that says what happened."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import BLUE, CARD, INK, RULE, VERMILLION, new_axes, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

#: The words of the figure, all in one place.
WORDS = {"step": "step"}

#: First word of a cell → its fill, its edge, the line around it, its text: an alarm has a double
#: cue, a thick dashed line beside its colour. Other words have the look of "".
LOOKS: Mapping[str, tuple[str, str, str, str]] = MappingProxyType(
    {
        "not": (CARD, VERMILLION, "--", INK),
        "skip": (CARD, VERMILLION, "--", INK),
        "dies": (CARD, VERMILLION, "--", INK),
        "save": (BLUE, BLUE, "-", CARD),
        "": (CARD, RULE, "-", INK),
    }
)


@styled
def rank_grid(rows: Mapping[str, Sequence[str]], groups: Sequence[int] = ()) -> Axes:
    """Return a table of cells: `rows` maps a label to what happened in each step, from step 0.

    A cell with an empty text stays blank, with its place kept; a text may have several lines.
    `groups` are the numbers of rows after which there is a gap. Raises ValueError for no rows, and
    for rows of different lengths.
    """
    lengths = {len(cells) for cells in rows.values()}
    if len(lengths) != 1:
        raise ValueError(f"rows of {sorted(lengths)} cells: give rows, all of the same steps")
    steps = lengths.pop()
    places = [y + 0.35 * sum(y >= after for after in groups) for y in range(len(rows))]
    lines = 1 + max(text.count("\n") for cells in rows.values() for text in cells)
    ax = new_axes(height=0.7 + (0.22 + 0.2 * lines) * len(rows))
    for y, cells in zip(places, rows.values(), strict=True):
        for x, text in enumerate(cells):
            if text.strip():
                _cell(ax, x, y, text)
    ax.set_xticks([x + 0.5 for x in range(steps)], [str(x) for x in range(steps)])
    ax.set_xlabel(WORDS["step"])
    ax.set_yticks([y + 0.5 for y in places], list(rows))
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xlim(0, steps)
    ax.set_ylim(places[-1] + 1.05, -0.05)
    return ax


def _cell(ax: Axes, x: int, y: float, text: str) -> None:
    from matplotlib.patches import Rectangle

    fill, edge, line, ink = LOOKS.get(text.replace(",", " ").split()[0], LOOKS[""])
    look: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "linestyle": line}
    wide = 2.2 if edge == VERMILLION else 1.2
    ax.add_patch(Rectangle((x + 0.05, y + 0.1), 0.9, 0.8, linewidth=wide, **look))
    weight = "bold" if edge == VERMILLION else "normal"
    ax.text(x + 0.5, y + 0.52, text, ha="center", va="center", color=ink, weight=weight)
