"""Draw how a Tensor Core adds one block: terms lined up, bits that fall off, the sum, its cut."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import (
    BLUE,
    CARD,
    GREY,
    INK,
    VERMILLION,
    new_axes,
    styled,
    text_shade,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

#: The stages of a block, in the order of the block FMA widget, and what is written over each.
STAGES = {
    "products": "1  The products are exact",
    "exponents": "2  Which exponent is the largest?",
    "alignment": "3  The others are shifted right, to one grid",
    "cut": "4  What lies right of the line falls off",
    "sum": "5  What is left is added exactly",
    "rounding": "6  Normalised, and cut once more",
}
#: The other words of the figure.
WORDS = {
    "exponent": "exponent",
    "shift": "shift",
    "sum": "sum",
    "result": "result",
    "exact": "nearest",
    "all": "Bits that are struck through fall off",
}
_LEFT, _RIGHT = 0.34, 0.1  # shares of the width for what stands beside the bits
_ORDER = tuple(STAGES)
_KEPT, _GONE, _SOFT = text_shade(BLUE), text_shade(VERMILLION), text_shade(GREY)


@styled
def block_sum(block: Mapping[str, Any], stage: str | None = None, title: str | None = None) -> Axes:
    """Return one block at a stage of `STAGES`; None draws the last with all that fell off.

    `block` holds plain data, as `ampcourse.widgets.block.picture.BlockPicture.as_data` gives
    it: rows of digits with the columns they start at before and after the shift, where each is
    cut, and how many columns are kept. Kept bits stand in boxes; those that fall off tilt or,
    for None, are struck through. All stages have the same axes, and each its own title if none
    is given. Raises ValueError for another
    stage, and for a block without a grid (one with an infinity or a NaN).
    """
    if stage is not None and stage not in STAGES:
        raise ValueError(f"stage={stage!r} is none of {', '.join(STAGES)}")
    if not block["columns"]:
        raise ValueError("the block has no grid: an infinity or a NaN is never lined up")
    reached = len(STAGES) - 1 if stage is None else _ORDER.index(stage)
    terms, results, columns = block["terms"], block["results"], block["columns"]
    ax = new_axes(height=0.32 * (len(terms) + len(results) + 2.2))
    _frame(ax, columns, len(terms) + len(results))
    for y, row in enumerate(terms):
        _term(ax, block, row, y, reached, stage is None)
    for y, row in enumerate(results, len(terms)):
        if reached >= _ORDER.index("sum" if row["key"] == "sum" else "rounding"):
            _result(ax, row, y + 0.25, reached, stage is None)
    _heads(ax, block, reached)
    ax.set_title(title or (WORDS["all"] if stage is None else STAGES[stage]))
    return ax


def _frame(ax: Axes, columns: int, rows: int) -> None:
    width = columns / (1 - _LEFT - _RIGHT)
    ax.set_xlim(-_LEFT * width, columns + _RIGHT * width)
    ax.set_ylim(rows + 0.35, -1)
    ax.set_axis_off()


def _heads(ax: Axes, block: Mapping[str, Any], reached: int) -> None:
    """Write the heads of the columns, and draw the lines after the last bit kept and the sum."""
    count, right = len(block["terms"]), block["columns"] + 0.4 * block["columns"] * _RIGHT
    if reached >= _ORDER.index("exponents"):
        _text(ax, -_sign(ax), -0.5, WORDS["exponent"], ha="right", color=_SOFT)
    if reached >= _ORDER.index("alignment"):
        _text(ax, right, -0.5, WORDS["shift"], ha="left", color=_SOFT)
        for mark in block["marks"]:
            _text(ax, mark["column"] + 0.5, -0.5, _mathtext(mark["label"]))
        dashes = ":" if reached == _ORDER.index("alignment") else "-"
        ax.plot([block["kept"]] * 2, [-0.1, count + 0.1], dashes, color=INK, linewidth=2)
    if reached >= _ORDER.index("sum"):
        ax.axhline(count + 0.12, color=INK, linewidth=1)


def _term(
    ax: Axes, block: Mapping[str, Any], row: Mapping[str, Any], y: float, reached: int, struck: bool
) -> None:
    _label(ax, _mathtext(row["label"]), y)
    if reached >= _ORDER.index("exponents"):
        framed = {"facecolor": "none", "edgecolor": INK, "boxstyle": "round,pad=0.2"}
        told = re.sub(r"\+ \(-(\d+)\)", r"− \1", row["exponent"]).replace("-", "−")
        _text(ax, -_sign(ax), y + 0.5, told, ha="right", color=INK,
              weight="bold" if row["largest"] else "normal",
              bbox=framed if row["largest"] else None)  # fmt: skip
    _minus(ax, row, y)
    largest = next(mark["column"] for mark in block["marks"] if mark["kind"] == "largest")
    start = largest - row["own"]["point"]
    if reached < _ORDER.index("alignment"):
        _bits(ax, row["own"]["digits"], start, y)
        ax.plot(largest + 1, y + 0.88, "o", color=INK, markersize=5)
        return
    strip = row["strip"]
    cut, zeros = len(strip["digits"]), strip["start"]
    if reached >= _ORDER.index("cut"):
        cut, zeros = strip["cut"], min(zeros, block["kept"])
    for column in range(largest, zeros):
        _text(ax, column + 0.5, y + 0.5, "0", color=_SOFT)
    fallen = reached > _ORDER.index("cut") and not struck
    _bits(ax, strip["digits"], strip["start"], y, cut, struck, fallen)
    if shift := strip["start"] - start:
        right = block["columns"] + 0.4 * block["columns"] * _RIGHT
        _text(ax, right, y + 0.5, f"→ {shift}", ha="left", color=INK)


def _result(ax: Axes, row: Mapping[str, Any], y: float, reached: int, struck: bool) -> None:
    _label(ax, WORDS[row["key"]], y, weight="bold" if row["key"] == "result" else "normal")
    _text(ax, -_sign(ax), y + 0.5, _mathtext(row["value"]), ha="right", color=INK)
    _minus(ax, row, y)
    if strip := row["strip"]:
        rounded = reached == _ORDER.index("rounding")
        cut = strip["cut"] if rounded else len(strip["digits"])
        _bits(ax, strip["digits"], strip["start"], y, cut, struck)


def _bits(
    ax: Axes, digits: str, start: int, y: float, cut: int | None = None, struck: bool = False,
    fallen: bool = False,
) -> None:  # fmt: skip
    """Draw digits from column `start` on; those from place `cut` on fall off or have fallen."""
    from matplotlib.patches import Rectangle

    for place, digit in enumerate(digits):
        x = start + place
        if cut is None or place < cut:
            face = _KEPT if digit == "1" else "none"
            ax.add_patch(Rectangle((x + 0.05, y + 0.1), 0.9, 0.8, facecolor=face, edgecolor=_KEPT))
            _text(ax, x + 0.5, y + 0.5, digit, color=CARD if digit == "1" else _KEPT, weight="bold")
        elif struck:
            _text(ax, x + 0.5, y + 0.5, digit, color=_GONE, weight="bold")
            ax.plot([x + 0.1, x + 0.9], [y + 0.75, y + 0.25], color=_GONE, linewidth=1.5)
        elif not fallen:
            _text(ax, x + 0.6, y + 0.72, digit, color=_GONE, weight="bold", rotation=-30)


def _label(ax: Axes, text: str, y: float, **look: Any) -> None:
    _text(ax, ax.get_xlim()[0], y + 0.5, text, ha="left", color=INK, **look)


def _minus(ax: Axes, row: Mapping[str, Any], y: float) -> None:
    _text(ax, -0.3 * _sign(ax), y + 0.5, "−" if row["minus"] else "+", color=INK)


def _sign(ax: Axes) -> float:
    """Return the room for a sign, in columns: it keeps its size whatever a column's."""
    low, high = ax.get_xlim()
    return 0.055 * (high - low)


def _text(ax: Axes, x: float, y: float, text: str, **look: Any) -> None:
    ax.text(x, y, text, **{"ha": "center", "va": "center", **look})


def _mathtext(text: str) -> str:
    """Write `2^{-7}` and `a_{0}` as matplotlib draws powers and indices."""
    return re.sub(r"(\w+[\^_]\{[^}]*\})", r"$\1$", text)
