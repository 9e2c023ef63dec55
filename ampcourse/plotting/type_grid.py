"""Draw which number format each kind of tensor has in each of several set-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ampcourse.plotting.style import CARD, FORMATS, GREY, INK, new_axes, styled, text_shade

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

#: Format → the fill of its cells, whose white text names it; as in the widget `type_flow`.
CELLS: Mapping[str, str] = {name: text_shade(FORMATS[name]) for name in ("fp32", "fp16", "bf16")}


@styled
def type_grid(columns: Mapping[str, Mapping[str, str]]) -> Axes:
    """Return a table of formats: a column per set-up, a row per kind of tensor.

    `columns` maps a set-up to a format's name, or any short text, for each kind of tensor. Rows
    are those of all columns in the order they come; one that a column lacks stays empty there.
    """
    rows = list(dict.fromkeys(row for column in columns.values() for row in column))
    ax = new_axes(height=0.5 + 0.36 * len(rows))
    for x, (name, column) in enumerate(columns.items()):
        ax.text(x + 0.5, -0.25, name, ha="center", va="bottom", color=INK, weight="bold")
        for y, row in enumerate(rows):
            if row in column:
                _cell(ax, x, y, column[row])
    ax.set_yticks([y + 0.5 for y in range(len(rows))], labels=rows)
    ax.set_xticks([])
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xlim(0, len(columns))
    ax.set_ylim(len(rows), -0.9)
    return ax


def _cell(ax: Axes, x: int, y: int, text: str) -> None:
    from matplotlib.patches import Rectangle

    fill, ink = (CELLS[text], CARD) if text in CELLS else (CARD, GREY)
    ax.add_patch(Rectangle((x + 0.03, y + 0.06), 0.94, 0.88, facecolor=fill, edgecolor="none"))
    ax.text(x + 0.5, y + 0.52, text, ha="center", va="center", color=ink)
