"""Reads who is in a class."""

import csv
import io
from pathlib import Path

ID_COLUMNS = ("id", "student", "student_id", "username", "user", "login", "email address")
NAME_COLUMNS = ("name", "full name", "fullname")


def read_roster(path: Path) -> dict[str, str]:
    """Return ids and names from a text file with an id a line, or a CSV file with a header.

    Of a CSV file's columns the first called id, student, username or the like is the id, and
    one called name is the name. Raises ValueError, OSError.
    """
    text = path.read_bytes().decode("utf-8-sig", "replace")
    rows = [row for row in csv.reader(io.StringIO(text)) if any(map(str.strip, row))]
    if not rows:
        raise ValueError(f"{path} is empty: it should list a student's id a line")
    header = [word.strip().lower() for word in rows[0]]
    ids = [header.index(name) for name in ID_COLUMNS if name in header]
    names = [header.index(name) for name in NAME_COLUMNS if name in header]
    if not ids and len(header) > 1:
        raise ValueError(
            f"{path} has the columns {', '.join(rows[0])}: one must be called "
            f"{', '.join(ID_COLUMNS[:-1])} or {ID_COLUMNS[-1]}"
        )
    members: dict[str, str] = {}
    for row in rows[1:] if ids else rows:
        student = cell(row, ids[0] if ids else 0)
        if student in members:
            raise ValueError(f"{path} lists {student!r} twice")
        if student:
            members[student] = cell(row, names[0]) if names else ""
    return members


def cell(row: list[str], index: int) -> str:
    """Return a row's cell, empty if the row is short."""
    return row[index].strip() if index < len(row) else ""
