"""Marks one notebook: what every worker does, on this machine or in a cluster."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from ampcourse.classroom.likeness import fingerprint
from ampcourse.courseware.grade import grade
from ampcourse.courseware.kernel import Kernels, KernelUnusable, Limits
from ampcourse.courseware.report import Report, TaskReport
from ampcourse.courseware.sheet import Sheet
from ampcourse.courseware.source import Lesson
from ampcourse.courseware.submission import SubmissionError, read_submission


@dataclass(frozen=True)
class Marked:
    """What marking found; it travels back from a worker."""

    report: Report
    causes: tuple[tuple[str, str], ...] = ()
    fingerprint: tuple[int, ...] = ()
    protection: str = ""


def mark(sheet: Sheet, content: bytes, shown: str, limits: Limits, kernels: Kernels) -> Marked:
    """Mark a notebook's bytes; `shown` names it in the report.

    Whatever goes wrong ends in a report with a problem: a notebook that could not be graded
    has no mark, and the others go on.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="ampmark") as folder:
            path = Path(folder) / "notebook.ipynb"
            path.write_bytes(content)
            report = replace(grade(sheet, path, limits, kernels), file=shown)
            print_ = fingerprint(sheet.lesson, read_submission(path, sheet.lesson))
        return Marked(report, causes(sheet, report), print_, kernels.protection)
    except (SubmissionError, KernelUnusable) as error:
        return Marked(ungraded(sheet.lesson, shown, str(error)))
    except Exception as error:
        reason = f"the grader itself failed ({type(error).__name__}: {error})"
        return Marked(ungraded(sheet.lesson, shown, reason))


def causes(sheet: Sheet, report: Report) -> tuple[tuple[str, str], ...]:
    """Return the misconceptions that a report names, each once: a trap's message is its name."""
    found = []
    for task in report.tasks:
        traps = {hint for check in sheet.entry(task.id).checks for hint, _ in check.traps}
        found += [(task.id, item.hint) for item in task.failures if item.hint in traps]
    return tuple(dict.fromkeys(found))


def ungraded(lesson: Lesson, shown: str, problem: str) -> Report:
    """Return a report that gives a reason instead of marks."""
    tasks = tuple(
        TaskReport(task.id, task.title, task.points, 0.0, note="not graded")
        for task in lesson.tasks
    )
    return Report(shown, lesson.slug, tasks, problem=problem)
