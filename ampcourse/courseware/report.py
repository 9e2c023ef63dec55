"""What grading found, as plain records, as text and as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Failure:
    """One item that did not hold: the call, what came out, what was expected, the hint."""

    call: str
    got: str
    expected: str
    hint: str
    hidden: bool = False

    def __str__(self) -> str:
        return f"`{self.call}` {self.got}; expected {self.expected}: {self.hint}"


@dataclass(frozen=True)
class TaskReport:
    """One task: points to be had, score, and why the rest is missing."""

    id: str
    title: str
    points: float
    score: float
    blank: bool = False
    failures: tuple[Failure, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Report:
    """One submission; `problem` says why it could not be graded, which is not a mark of 0."""

    file: str
    lesson: str
    tasks: tuple[TaskReport, ...]
    notes: tuple[str, ...] = ()
    problem: str = ""
    protection: str = ""  # what the learner's code was kept from

    @property
    def points(self) -> float:
        return sum(task.points for task in self.tasks)

    @property
    def score(self) -> float:
        return round(sum(task.score for task in self.tasks), 2)


def as_text(report: Report) -> str:
    """Return the report for a terminal."""
    lines = [f"{report.file}: {report.lesson or 'no lesson of this course'}"]
    if report.problem:
        lines.append(f"  not graded: {report.problem}")
    lines += [f"  note: {note}" for note in report.notes]
    for task in report.tasks:
        lines.append(f"  {task.id} {task.title}: {task.score:g} of {task.points:g}")
        if task.note:
            lines.append(f"    {task.note}")
        if task.blank:
            lines.append("    not solved: the stub is still there")
        else:
            lines += ["    " + str(item).replace("\n", "\n    ") for item in task.failures]
    if report.protection:
        lines.append(f"  run in {report.protection}")
    lines.append(f"  total: {report.score:g} of {report.points:g}")
    return "\n".join(lines)


def as_json(reports: list[Report]) -> str:
    """Return the reports as a JSON list, with the sums."""

    def record(report: Report) -> dict[str, Any]:
        return {**asdict(report), "points": report.points, "score": report.score}

    return json.dumps([record(report) for report in reports], indent=1, ensure_ascii=False)
