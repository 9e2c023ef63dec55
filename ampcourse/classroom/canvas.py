"""Fills in the gradebook that Canvas exports, to be imported there again."""

import re

from ampcourse.classroom.filling import Outcome, fill
from ampcourse.classroom.record import Record
from ampcourse.classroom.worksheet import Worksheet

NUMBERED = re.compile(r"(.*) \(\d+\)")
CANVAS_KEYS = ("ID", "SIS User ID", "SIS Login ID")


def canvas_column(sheet: Worksheet, wanted: str) -> int:
    """Return the one column that is called `wanted`, with or without Canvas's number.

    Raises ValueError where there is none, or more than one.
    """
    names = sheet.header
    exact = [at for at, name in enumerate(names) if name == wanted]
    close = [
        at
        for at, name in enumerate(names)
        if (found := NUMBERED.fullmatch(name)) and found[1] == wanted
    ]
    part = [at for at, name in enumerate(names) if wanted.lower() in name.lower()]
    found = exact or close or part
    if len(found) == 1:
        return found[0]
    which = "no column is" if not found else f"{len(found)} columns are"
    choice = [names[at] for at in found] or [name for name in names if NUMBERED.fullmatch(name)]
    raise ValueError(
        f"{sheet.path}: {which} called {wanted!r}; name one with --column: "
        + ", ".join(map(repr, choice))
    )


def fill_canvas(sheet: Worksheet, records: list[Record], column: int, scale: bool) -> Outcome:
    """Write marks into one column of Canvas's gradebook; nothing else changes.

    Raises ValueError where the column's points differ from the lesson's, unless `scale`.
    """
    keys = [at for name in CANVAS_KEYS if (at := sheet.column(name)) >= 0]
    if not keys:
        raise ValueError(f"{sheet.path} has none of the columns {', '.join(CANVAS_KEYS)}")
    head = next((row for row in range(1, len(sheet.rows)) if possible(sheet, row)), None)
    points = sheet.value(head, column) if head else ""
    rows = list(range((head or 0) + 1, len(sheet.rows)))
    return fill(
        sheet, records, rows, column, lambda row, key: sheet.value(row, keys[key]).strip(),
        len(keys), lambda row: points, scale,
    )  # fmt: skip


def possible(sheet: Worksheet, row: int) -> bool:
    """Return whether a row holds the points possible, not a student."""
    return sheet.value(row, 0).strip() == "Points Possible"
