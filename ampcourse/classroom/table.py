"""Marks as plain tables: CSV for a spreadsheet, JSON for a program."""

import csv
import io
import json
from dataclasses import asdict

from ampcourse.classroom.page import marks
from ampcourse.classroom.record import Record

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(records: list[Record]) -> bytes:
    """Return a row for each student: for each lesson the mark, its state, and each task's points.

    A notebook that could not be graded has no mark, which is not 0.
    """
    lessons = sorted({record.lesson for record in records})
    tasks = {
        lesson: sorted(
            {
                task.id
                for record in records
                if record.lesson == lesson
                for task in record.report.tasks
            }
        )
        for lesson in lessons
    }
    found = {(record.student, record.lesson): record for record in records}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    header = ["student", "name"]
    for lesson in lessons:
        header += [lesson, f"{lesson} of", f"{lesson} state", *tasks[lesson]]
    writer.writerow(header)
    for student, name in sorted({record.student: record.name for record in records}.items()):
        row = [harmless(student), harmless(name)]
        for lesson in lessons:
            row += cells(found.get((student, lesson)), tasks[lesson])
        writer.writerow(row)
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8", "replace")


def cells(record: Record | None, tasks: list[str]) -> list[str]:
    """Return a student's columns for one lesson."""
    if record is None:
        return ["", "", "missing", *("" for _ in tasks)]
    if record.score is None:
        return ["", marks(record.points), "not graded", *("" for _ in tasks)]
    scores = {task.id: marks(task.score) for task in record.report.tasks}
    state = "late" if record.late else "graded"
    own = [scores.get(task, "") for task in tasks]
    return [marks(record.report.score), marks(record.points), state, *own]


def harmless(text: str) -> str:
    """Return text that a spreadsheet does not take for a formula."""
    return "'" + text if text.startswith(FORMULA) else text


def as_json(records: list[Record]) -> bytes:
    """Return everything that is known of each notebook but its fingerprint."""
    entries = []
    for record in records:
        entry = {"score": record.score, "points": record.points, **asdict(record)}
        del entry["fingerprint"]
        entries.append(entry)
    return (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")
