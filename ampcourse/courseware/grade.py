"""Grades a submission: runs the learner's code in a kernel, judges what comes back outside.

Set-up cells and checks come from the source. Solutions and added cells run in the order of
the file; a task's checks are evaluated right after its solution, as in the notebook. A kernel
that dies or will not stop is replaced and what ran before is replayed.
"""

import ast
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ampcourse.courseware.course import Course
from ampcourse.courseware.kernel import Kernel, KernelLost, Kernels, KernelUnusable, Limits
from ampcourse.courseware.report import Report, TaskReport
from ampcourse.courseware.sandbox import best_kernels
from ampcourse.courseware.sheet import Entry, Sheet, make_sheet
from ampcourse.courseware.source import Lesson, names_in
from ampcourse.courseware.submission import (
    Piece,
    SubmissionError,
    lesson_by_name,
    lesson_of,
    read_submission,
)

BATCH = 50
HANGS = 2  # calls of one task that may run into the time limit before the rest is given up
RESTARTS = 8
UNDEFINED = re.compile(r"name '(\w+)' is not defined")
DEFAULT = Limits()


class OutOfTime(Exception):
    """The notebook has used up its time, or more kernels than it may."""


@dataclass
class Run:
    """One piece of code with what running it came to."""

    piece: Piece
    error: str = ""
    whole: bool = True  # False once it cost a kernel: then statement by statement
    skip: set[int] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)  # forbidden imports it tried


@dataclass
class Session:
    """A submission's kernel, kept alive by replaying `runs` where it has to be replaced."""

    sheet: Sheet
    limits: Limits
    kernels: Kernels
    given_names: frozenset[str] = frozenset()  # defined in given cells that are not run
    runs: list[Run] = field(default_factory=list)
    kernel: Kernel | None = None
    restarts: int = 0

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.limits.notebook

    def left(self, seconds: float) -> float:
        """Return the time a request may take; raises OutOfTime when there is none."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise OutOfTime(f"the notebook has used up its {self.limits.notebook:g} s")
        return min(seconds, left)

    def ready(self) -> Kernel:
        """Return a kernel in which set-up and all earlier pieces have run."""
        while self.kernel is None:
            self.kernel = self.kernels.start(self.sheet.lesson, self.limits)
            try:
                for run in self.runs:
                    self.play(run)
                self.kernel.evaluate([], self.limits.check)  # what was refused is known already
            except KernelLost:
                self.drop()
        return self.kernel

    def drop(self) -> None:
        """Give up a lost kernel; the next request starts another."""
        self.close()
        self.restarts += 1
        if self.restarts > RESTARTS:
            raise OutOfTime(f"its code ended or blocked the kernel {self.restarts} times")

    def close(self) -> None:
        if self.kernel is not None:
            self.kernel.close()
            self.kernel = None

    def add(self, piece: Piece) -> Run:
        """Run a piece and keep it for replays."""
        run = Run(piece)
        while True:
            self.ready()
            try:
                self.play(run)
                _, refused = self.ready().evaluate([], self.left(self.limits.check))
            except KernelLost:
                self.drop()
                continue
            run.refused += refused
            self.runs.append(run)
            return run

    def play(self, run: Run) -> None:
        """Run a piece as a whole, or its statements but for those that cost a kernel."""
        assert self.kernel is not None
        if run.whole:
            try:
                reply = self.kernel.execute(run.piece.text, self.left(self.limits.cell))
            except KernelLost as error:
                # From now on by statement: the fault must not cost what else the cell defines.
                run.error, run.whole = f"this cell {error}", False
                raise
            run.error = "" if reply.status == "ok" else f"this cell stopped: {reply.error}"
            return
        for index, statement in enumerate(statements(run.piece.text)):
            if index in run.skip:
                continue
            try:
                if self.kernel.execute(statement, self.left(self.limits.cell)).status == "error":
                    return
            except KernelLost:
                run.skip.add(index)
                raise

    def outcomes(self, calls: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the outcomes of a task's calls, and the forbidden imports they tried.

        Calls travel in batches; one that hangs or kills the kernel is found by trying alone.
        """
        done: list[dict[str, Any]] = []
        refused: list[str] = []
        hangs, size = 0, BATCH
        while len(done) < len(calls) and hangs < HANGS:
            batch = calls[len(done) : len(done) + size]
            try:
                got, tried = self.ready().evaluate(batch, self.left(self.limits.check))
                trouble = f"gave no result within {self.limits.check:g} s"
                refused += tried
            except KernelLost as error:
                got, trouble = [], str(error)
                self.drop()
            if size == 1 and not got:
                got = [{"no_result": trouble}]
                hangs += 1
            done += got
            size = BATCH if len(got) == len(batch) else 1
        rest = [{"no_result": "was not tried: two calls before it did not end"}]
        return done + rest * (len(calls) - len(done)), refused


def statements(text: str) -> list[str]:
    """Return a cell's top-level statements; none where it is not plain Python."""
    try:
        nodes = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [ast.unparse(node) for node in nodes]


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
    session = Session(sheet, limits, kernels, submission.unused | sheet.lesson.demo_names)
    reports: dict[str, TaskReport] = {}
    trouble = "it could not be reached"
    try:
        for index, piece in enumerate(submission.pieces):
            run = session.add(piece)
            later = {other.task for other in submission.pieces[index + 1 :]}
            if piece.task and piece.task not in later:
                reports[piece.task] = grade_task(session, sheet.entry(piece.task), run)
        for entry in sheet.entries:  # tasks whose cell is missing: an added cell may solve them
            if entry.task.id not in reports:
                reports[entry.task.id] = grade_task(session, entry, None)
    except OutOfTime as error:
        trouble = str(error)
    finally:
        session.close()
    tasks = tuple(reports.get(entry.task.id) or entry.lost(trouble) for entry in sheet.entries)
    return Report(str(path), sheet.lesson.slug, tasks, submission.notes)


def grade_task(session: Session, entry: Entry, run: Run | None) -> TaskReport:
    """Evaluate and judge one task's checks."""
    outcomes, refused = session.outcomes([check.call for check in entry.checks])
    refused += run.refused if run else []
    if refused:
        return entry.lost(
            f"it imports {refused[0]}, which this lesson asks you to build: no points"
        )
    note = run.error if run else ""
    return entry.report(outcomes, note or unknown_name(session, outcomes))


def unknown_name(session: Session, outcomes: list[dict[str, Any]]) -> str:
    """Return a note if a call failed for a name whose definition was not run to its end."""
    for outcome in outcomes:
        found = UNDEFINED.match(str(outcome.get("error", {}).get("message", "")))
        if not found:
            continue
        name = found[1]
        for run in session.runs:
            if (run.refused or run.error) and name in names_in(run.piece.text):
                why = f"imports {run.refused[0]}" if run.refused else "stopped"
                place = f"the cell of {run.piece.task}" if run.piece.task else "a cell of your own"
                return f"{name} comes from {place}, which {why}: mend that first"
        if name in session.given_names:
            return (
                f"{name} comes from a demonstration cell, which grading does not run: "
                "define it in a cell of your own"
            )
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
