"""Fills in Moodle's offline grading worksheet, to be uploaded there again."""

import re
from html import escape

from ampcourse.classroom.filling import Outcome, fill
from ampcourse.classroom.page import marks, seen
from ampcourse.classroom.record import Record
from ampcourse.classroom.worksheet import Worksheet

PARTICIPANT = re.compile(r"\D*(\d+)")


def fill_moodle(sheet: Worksheet, records: list[Record], scale: bool) -> Outcome:
    """Write marks and feedback into Moodle's offline grading worksheet."""
    identifier, grade = sheet.column("Identifier"), sheet.column("Grade")
    names, most = sheet.column("Full name"), sheet.column("Maximum grade")
    open_ = sheet.column("Grade can be changed")
    comments = sheet.column("Feedback comments")
    if min(identifier, grade) < 0:
        raise ValueError(
            f"{sheet.path} has no columns Identifier and Grade: not Moodle's worksheet"
        )

    def key(row: int, which: int) -> str:
        if which:
            return sheet.value(row, names).strip()
        found = PARTICIPANT.fullmatch(sheet.value(row, identifier).strip())
        return found[1] if found else ""

    rows = [
        row
        for row in range(1, len(sheet.rows))
        if sheet.value(row, open_).strip().lower() not in ("no", "0")
    ]
    outcome = fill(
        sheet,
        records,
        rows,
        grade,
        key,
        2,
        lambda row: sheet.value(row, most),
        scale,
        comments,
        summary,
    )
    if closed := len(sheet.rows) - 1 - len(rows):
        outcome.left.append(f"{closed} rows whose grade Moodle says cannot be changed")
    return outcome


def summary(record: Record) -> str:
    """Return feedback in a few lines of HTML, as Moodle's comments are."""
    lines = [f"{record.report.score:g} of {record.points:g} points"]
    for task in record.report.tasks:
        line = f"{task.id} {task.title}: {marks(task.score)} of {marks(task.points)}"
        reasons = [task.note] if task.note else [item.hint for item in task.failures]
        if task.blank:
            reasons = ["not solved"]
        lines.append(line + (f" ({'; '.join(reasons)})" if reasons else ""))
    return "<br>".join(escape(seen(line)) for line in lines)
