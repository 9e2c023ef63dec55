"""What is kept of one student's work on one lesson."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from ampcourse import __version__
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.report import Failure, Report, TaskReport
from ampcourse.courseware.sheet import Sheet

FORM = 1


@dataclass(frozen=True)
class Record:
    """A report with whose it is, what it was made from, and what the class page needs.

    `causes` are the misconceptions met, as (task, the trap's message); `fingerprint` is that
    of the solution cells, see `likeness`. `submission` and `sheet` are digests.
    """

    student: str
    name: str
    reference: str
    lesson: str
    submitted: str
    late: bool
    remarks: tuple[str, ...]
    submission: str
    sheet: str
    report: Report
    causes: tuple[tuple[str, str], ...] = ()
    fingerprint: tuple[int, ...] = ()
    protection: str = ""
    graded: str = ""

    @property
    def score(self) -> float | None:
        """The marks, or None where it could not be graded, which is not a mark of 0."""
        return None if self.report.problem else self.report.score

    @property
    def points(self) -> float:
        return self.report.points

    @property
    def called(self) -> str:
        """The student's name, with the id where the two differ."""
        differ = self.name and self.name not in self.student
        return f"{self.name} ({self.student})" if differ else self.student


def submission_digest(content: bytes) -> str:
    """Return the digest of a notebook's bytes."""
    return hashlib.sha256(content).hexdigest()


def sheet_digest(sheet: Sheet, limits: Limits) -> str:
    """Return the digest of all that marks depend on besides the notebook and the machine."""
    lesson = sheet.lesson
    return hashlib.sha256(
        repr((FORM, __version__, limits, lesson.slug, lesson.cells, sheet.entries)).encode()
    ).hexdigest()


def to_json(record: Record) -> bytes:
    """Return the record as a JSON file's content."""
    content = {"form": FORM, "score": record.score, "points": record.points, **asdict(record)}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def from_json(content: bytes) -> Record:
    """Read a record; raises ValueError for what is none, or of another form."""
    try:
        data = json.loads(content)
        if data.pop("form") != FORM:
            raise ValueError("it was written by another version")
        del data["score"], data["points"]
        data["report"] = read_report(data["report"])
        data["causes"] = tuple((task, cause) for task, cause in data["causes"])
        for name in ("remarks", "fingerprint"):
            data[name] = tuple(data[name])
        return Record(**data)
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no record of a grading ({error!r})") from None


def read_report(data: dict[str, Any]) -> Report:
    """Return a report from its JSON."""
    tasks = tuple(
        TaskReport(**{**task, "failures": tuple(Failure(**item) for item in task["failures"])})
        for task in data["tasks"]
    )
    return Report(**{**data, "tasks": tasks, "notes": tuple(data["notes"])})
