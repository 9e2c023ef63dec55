"""Known answers to tasks, right and wrong, and what the checks make of them.

`tests/wrong_answers/tNN_K__misconception.py` opens with `# message: key phrase`, which the
report must contain; `tests/right_answers/tNN_K__way.py` must get all marks. They are ours, so
they run in this process, without the grader's kernel.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ampcourse.courseware.agent import evaluate
from ampcourse.courseware.course import Course
from ampcourse.courseware.report import TaskReport
from ampcourse.courseware.sheet import Sheet
from ampcourse.courseware.source import SourceError, Task, without_solution

NAME = re.compile(r"(t\d\d_\d+)__([a-z0-9_]+)\.py")
MESSAGE = re.compile(r"\A# message: (\S.*)\n")


@dataclass(frozen=True)
class Answer:
    """One answer to one task; `message` is the key phrase of a wrong one, else empty."""

    task: str
    name: str
    text: str
    message: str = ""

    @property
    def right(self) -> bool:
        return not self.message


def read_answers(course: Course, slug: str) -> Iterator[Answer]:
    """Yield the answers to a lesson's tasks, sorted by file; raises SourceError if malformed."""
    for folder, wrong in (("wrong_answers", True), ("right_answers", False)):
        for path in sorted((course.root / "tests" / folder).glob(f"t{slug[:2]}_*.py")):
            yield read_answer(path, wrong)


def read_answer(path: Path, wrong: bool) -> Answer:
    """Read one answer's file."""
    found, text = NAME.fullmatch(path.name), path.read_text("utf-8")
    if not found:
        raise SourceError(f"{path.name}: an answer's file is named tNN_K__what_it_does.py")
    message = MESSAGE.match(text)
    if wrong and not message:
        raise SourceError(f"{path.name}: a wrong answer opens with '# message: key phrase'")
    return Answer(found[1], found[2], text, message[1].strip() if wrong and message else "")


class Desk:
    """Tries answers to one lesson's tasks against its checks, in this process."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.names: dict[str, Any] = {"__name__": "answers"}
        for cell in sheet.lesson.setup:
            exec(compile(cell, f"{sheet.lesson.slug} set-up", "exec"), self.names)

    def outcomes(self, task: str, text: str) -> list[dict[str, Any]]:
        """Return what the calls of a task's checks give with this answer."""
        entry = self.sheet.entry(task)
        names = dict(self.names)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, f"answer to {task}", "exec"), names)
            return [evaluate(check.call, names) for check in entry.checks]

    def report(self, task: str, text: str) -> TaskReport:
        """Return the marks and messages of an answer."""
        return self.sheet.entry(task).report(self.outcomes(task, text))

    def blank(self, task: Task) -> TaskReport:
        """Return the marks and messages of the untouched stub."""
        return self.report(task.id, without_solution(task.solution.text, task.id))
