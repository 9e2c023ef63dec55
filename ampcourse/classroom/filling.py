"""Matches marks with the rows of another system's sheet."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from ampcourse.classroom.page import marks
from ampcourse.classroom.record import Record
from ampcourse.classroom.worksheet import Worksheet


@dataclass
class Outcome:
    """What filling in came to: how many marks, and what was left alone and why."""

    filled: int = 0
    left: list[str] = field(default_factory=list)


def fill(
    sheet: Worksheet,
    records: list[Record],
    rows: list[int],
    column: int,
    key: Callable[[int, int], str],
    keys: int,
    points: Callable[[int], str],
    scale: bool,
    comments: int = -1,
    comment: Callable[[Record], str] = lambda record: "",
) -> Outcome:
    """Write each record's mark into the one row that is its student's, by the first key that fits.

    A mark that is missing, because a notebook could not be graded, leaves its row alone.
    """
    outcome = Outcome()
    taken: dict[int, str] = {}
    for record in records:
        fitting: list[int] = []
        for which in range(keys):
            index = index_by(rows, key, which)
            own = {record.reference, record.student, record.name} - {""}
            fitting = sorted({row for word in own for row in index.get(word, ())})
            if fitting:
                break
        if len(fitting) != 1:
            reason = "no row is theirs" if not fitting else f"{len(fitting)} rows may be theirs"
            outcome.left.append(f"{record.called}: {reason}")
        elif record.score is None:
            outcome.left.append(f"{record.called}: could not be graded, so there is no mark")
        elif fitting[0] in taken:
            other = taken[fitting[0]]
            outcome.left.append(f"{record.called}: their row is filled with the mark of {other}")
        else:
            row = fitting[0]
            taken[row] = record.called
            sheet.set(row, column, marks(scaled(record, points(row), scale, sheet)))
            if comments >= 0:
                sheet.set(row, comments, comment(record))
            outcome.filled += 1
    return outcome


def index_by(rows: list[int], key: Callable[[int, int], str], which: int) -> dict[str, list[int]]:
    """Return the rows by one of their keys."""
    index: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if word := key(row, which):
            index[word].append(row)
    return index


def scaled(record: Record, points: str, scale: bool, sheet: Worksheet) -> float:
    """Return the mark, out of the sheet's points; raises ValueError if these differ."""
    score = record.report.score
    try:
        most = float(points.replace(",", ".")) if points.strip() else record.points
    except ValueError:
        most = record.points
    if most == record.points:
        return score
    if not scale:
        raise ValueError(
            f"{sheet.path} has {most:g} points for a lesson of {record.points:g}: set it to "
            f"{record.points:g} there and export again, or convert the marks with --scale"
        )
    return score * most / record.points
