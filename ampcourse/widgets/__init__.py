"""Interactive views of floating-point formats for the lessons.

Importing this package loads no widget library; the functions do, when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ampcourse.formats import FloatFormat
    from ampcourse.widgets.bit_explorer import Explorer
    from ampcourse.widgets.side_by_side import SameNumber

__all__ = ["explorer", "same_number"]


def explorer(
    format: str | FloatFormat = "fp16", value: str | float = "0.1", *, code: int | None = None
) -> Explorer:
    """Return the bit explorer: one number in one format, every bit of it to flip.

    The format is a FloatFormat or a name; the value a number or the text of one. With `code`
    the explorer starts from those bits instead. The result shows its state as `format`,
    `code`, `value` and `typed`, which can also be assigned.

    Raises ValueError for an unknown format, a malformed number or one the format has no code
    for, and ImportError with the install command where ipywidgets or anywidget is missing.

    >>> explorer("fp16", "0.1").code == 0x2E66
    True
    """
    from ampcourse.widgets.bit_explorer import Explorer

    return Explorer(format, value, code=code)


def same_number(value: str | float = "0.1") -> SameNumber:
    """Return one real number in eight formats side by side.

    Raises ValueError for a malformed number, and ImportError with the install command where
    ipywidgets or anywidget is missing.

    >>> same_number("0.1").rows["fp16"].code == 0x2E66
    True
    """
    from ampcourse.widgets.side_by_side import SameNumber

    return SameNumber(value)
