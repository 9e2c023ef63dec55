"""Grades a submission: runs the learner's code in a kernel, judges what comes back outside.

Set-up cells and checks come from the source. Solutions and added cells run in the order of
the file; a task's checks are evaluated right after its solution, as in the notebook.

All of it runs twice, each time in a fresh kernel. The first run knows the visible checks only,
and what its cells say is reported. The second run knows the hidden checks, and of what comes
back it is only judged: code that reads a hidden call in its kernel's memory has nowhere to
take it but the one value that call gives.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ampcourse.courseware.course import Course
from ampcourse.courseware.kernel import Kernels, KernelUnusable, Limits
from ampcourse.courseware.report import Report, TaskReport
from ampcourse.courseware.sandbox import best_kernels
from ampcourse.courseware.session import Answers, OutOfTime, Run, Session
from ampcourse.courseware.sheet import Entry, Sheet, make_sheet
from ampcourse.courseware.source import Lesson, is_inside, names_in
from ampcourse.courseware.submission import (
    Submission,
    SubmissionError,
    lesson_by_name,
    lesson_of,
    read_submission,
)

UNDEFINED = re.compile(r"name '(\w+)' is not defined")
DEFAULT = Limits()


def grade(
    sheet: Sheet, path: Path, limits: Limits = DEFAULT, kernels: Kernels | None = None
) -> Report:
    """Grade one file against a lesson's sheet; raises SubmissionError, KernelUnusable.

    Without `kernels`, the best of this machine are started for this one file.
    """
    if kernels is None:
        with best_kernels() as own:
            return grade(sheet, path, limits, own)
    submission = read_submission(path, sheet.lesson)
    attempt = Attempt(sheet, submission)
    attempt.run(Session(sheet.lesson, limits, kernels), hidden=False)
    attempt.run(Session(sheet.lesson, limits, kernels), hidden=True)
    tasks = tuple(attempt.report(entry) for entry in sheet.entries)
    return Report(
        str(path), sheet.lesson.slug, tasks, submission.notes, protection=kernels.protection
    )


@dataclass
class Attempt:
    """One submission while it is graded: its runs, and each task's answers so far."""

    sheet: Sheet
    submission: Submission
    runs: list[Run] = field(default_factory=list)
    visible: dict[str, Answers] = field(default_factory=dict)
    hidden: dict[str, Answers] = field(default_factory=dict)
    trouble: str = ""

    def run(self, session: Session, hidden: bool) -> None:
        """Run the pieces, asking each task's calls when the last of its pieces has run."""
        try:
            if hidden:
                self.walk(session, [run.again() for run in self.runs], hidden)
            else:
                self.walk(session, [Run(piece) for piece in self.submission.pieces], hidden)
        except OutOfTime as error:
            self.trouble = self.trouble or str(error)
        finally:
            session.close()

    def walk(self, session: Session, runs: list[Run], hidden: bool) -> None:
        last = {run.piece.task: index for index, run in enumerate(runs)}
        for index, run in enumerate(runs):
            session.add(run)
            if not hidden:
                self.runs.append(run)
            if run.piece.task and last[run.piece.task] == index:
                self.ask(session, self.sheet.entry(run.piece.task), hidden)
        for entry in self.sheet.entries:  # no cell of its own: an added one may solve it
            if entry.task.id not in last:
                self.ask(session, entry, hidden)

    def ask(self, session: Session, entry: Entry, hidden: bool) -> None:
        """Ask a task's visible or hidden calls."""
        id = entry.task.id
        if hidden and id not in self.visible:
            return
        answers = Answers(hangs=self.visible[id].hangs if hidden else 0)
        session.ask([check.call for check in entry.part(hidden)], answers)
        (self.hidden if hidden else self.visible)[id] = answers

    def report(self, entry: Entry) -> TaskReport:
        """Judge one task."""
        id = entry.task.id
        if id not in self.hidden:
            return entry.lost(self.trouble or "it could not be reached")
        run = next((run for run in reversed(self.runs) if run.piece.task == id), None)
        tried = self.visible[id].refused + self.hidden[id].refused + (run.refused if run else [])
        if banned := forbidden_of(self.sheet.lesson, tried):
            return entry.lost(
                f"it imports {banned}, which this lesson asks you to build: no points"
            )
        outcomes = entry.in_order(self.visible[id].outcomes, self.hidden[id].outcomes)
        report = entry.report(outcomes)
        note = run.error if run else ""
        return replace(report, note=note or self.unknown_name(outcomes))

    def unknown_name(self, outcomes: list[dict[str, Any]]) -> str:
        """Return a note if a call failed for a name whose definition was not run to its end."""
        for outcome in outcomes:
            found = UNDEFINED.match(str(outcome.get("error", {}).get("message", "")))
            if not found:
                continue
            name = found[1]
            for run in self.runs:
                banned = forbidden_of(self.sheet.lesson, run.refused)
                if (banned or run.error) and name in names_in(run.piece.text):
                    why = f"imports {banned}" if banned else "stopped"
                    own = run.piece.task
                    place = f"the cell of {own}" if own else "a cell of your own"
                    return f"{name} comes from {place}, which {why}: mend that first"
            if name in self.submission.unused | self.sheet.lesson.demo_names:
                return (
                    f"{name} comes from a demonstration cell, which grading does not run: "
                    "define it in a cell of your own"
                )
        return ""


def forbidden_of(lesson: Lesson, tried: list[str]) -> str:
    """Return the first forbidden module among names that a kernel reported, which may lie."""
    for name in tried:
        for module in lesson.forbidden:
            if is_inside(name, module):
                return module
    return ""


def grade_files(
    course: Course, paths: list[Path], limits: Limits = DEFAULT, kernels: Kernels | None = None
) -> Iterator[Report]:
    """Grade files one by one; a file that cannot be read gets a report that says so."""
    if kernels is None:
        with best_kernels() as own:
            yield from grade_files(course, paths, limits, own)
        return
    sheets: dict[str, Sheet] = {}
    for path in paths:
        sheet: Sheet | None = None
        try:
            lesson = lesson_of(course, path)
            if lesson.slug not in sheets:
                sheets[lesson.slug] = make_sheet(lesson)
            sheet = sheets[lesson.slug]
            yield grade(sheet, path, limits, kernels)
        except (SubmissionError, KernelUnusable) as error:
            yield ungraded(path, sheet.lesson if sheet else named_lesson(course, path), str(error))


def ungraded(path: Path, lesson: Lesson | None, problem: str) -> Report:
    """Return a report that gives the reason and lists the tasks, as far as they are known."""
    tasks = tuple(
        TaskReport(task.id, task.title, task.points, 0.0, note="not graded")
        for task in (lesson.tasks if lesson else ())
    )
    return Report(str(path), lesson.slug if lesson else "", tasks, problem=problem)


def named_lesson(course: Course, path: Path) -> Lesson | None:
    """Return the lesson that a file's name tells, if it does."""
    try:
        return lesson_by_name(course, path)
    except SubmissionError:
        return None
