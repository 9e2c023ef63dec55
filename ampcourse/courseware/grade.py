"""Grades a submission: runs the learner's code in a kernel, judges what comes back outside.

Set-up cells and checks come from the source. Solutions and added cells run in the order of
the file; a task's checks are evaluated right after its solution, as in the notebook. A kernel
that dies or will not stop is replaced and what ran before is replayed.
"""

import ast
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ampcourse.courseware.course import Course
from ampcourse.courseware.kernel import Kernel, KernelLost, KernelUnusable, Limits
from ampcourse.courseware.report import Report, TaskReport
from ampcourse.courseware.sheet import Entry, Sheet, make_sheet
from ampcourse.courseware.source import Lesson
from ampcourse.courseware.submission import Piece, SubmissionError, lesson_of, read_submission

BATCH = 50
HANGS = 2  # calls of one task that may run into the time limit before the rest is given up
RESTARTS = 8


class OutOfTime(Exception):
    """The notebook has used up its time, or more kernels than it may."""


@dataclass
class Run:
    """One piece of code with what running it came to."""

    piece: Piece
    error: str = ""
    whole: bool = True  # False once the kernel was lost: then statement by statement
    skip: set[int] = field(default_factory=set)


@dataclass
class Session:
    """A submission's kernel, kept alive by replaying `runs` where it has to be replaced."""

    sheet: Sheet
    limits: Limits
    runs: list[Run] = field(default_factory=list)
    kernel: Kernel | None = None
    restarts: int = 0
    refused: list[str] = field(default_factory=list)

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
        if self.kernel is None:
            self.kernel = Kernel(self.sheet.lesson.forbidden, self.limits)
            self.kernel.set_up(self.sheet.lesson.setup)
            for run in self.runs:
                self.play(run)
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
        self.ready()
        run = Run(piece)
        while True:
            try:
                self.ready()
                self.play(run)
            except KernelLost as error:
                # Not even this may cost what the cell defines before or after the fault.
                run.error, run.whole = f"this cell {error}", False
                self.drop()
                continue
            self.runs.append(run)
            return run

    def play(self, run: Run) -> None:
        """Run a piece as a whole, or its statements but for those that cost a kernel."""
        assert self.kernel is not None
        if run.whole:
            reply = self.kernel.execute(run.piece.text, self.left(self.limits.cell))
            if reply.status != "ok":
                run.error = reply.error
            return
        for index, statement in enumerate(statements(run.piece.text)):
            if index in run.skip:
                continue
            try:
                self.kernel.execute(statement, self.left(self.limits.cell))
            except KernelLost:
                run.skip.add(index)
                raise

    def outcomes(self, calls: list[str]) -> list[dict[str, Any]]:
        """Return the outcomes of a task's calls; one that hangs or kills is known by name."""
        done: list[dict[str, Any]] = []
        hangs, size = 0, BATCH
        while len(done) < len(calls):
            if hangs >= HANGS:
                return done + [failed("was not tried: two calls before it failed to end")] * (
                    len(calls) - len(done)
                )
            batch = calls[len(done) : len(done) + size]
            try:
                got, self.refused = self.ready().evaluate(batch, self.left(self.limits.check))
            except KernelLost as error:
                got = [failed(str(error))] if size == 1 else []
                hangs += size == 1
                self.drop()
            else:
                if not got and size == 1:
                    got = [failed(f"gave no result within {self.limits.check:g} s")]
                    hangs += 1
            done += got
            size = BATCH if size == 1 and got else 1 if len(got) < len(batch) else BATCH
        return done


def failed(text: str) -> dict[str, Any]:
    """Return the outcome of a call that never gave one."""
    return {"no_result": text}


def statements(text: str) -> list[str]:
    """Return a cell's top-level statements; none where it is not plain Python."""
    try:
        nodes = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [ast.unparse(node) for node in nodes]


def grade(sheet: Sheet, path: Path, limits: Limits = Limits()) -> Report:  # noqa: B008
    """Grade one file against a lesson's sheet; raises SubmissionError, KernelUnusable."""
    submission = read_submission(path, sheet.lesson)
    session = Session(sheet, limits)
    reports: dict[str, TaskReport] = {}
    trouble = "it could not be reached"
    try:
        for index, piece in enumerate(submission.pieces):
            run = session.add(piece)
            later = {other.task for other in submission.pieces[index + 1 :]}
            if piece.task and piece.task not in later:
                reports[piece.task] = grade_task(session, entry_of(sheet, piece.task), run)
        for entry in sheet.entries:  # tasks whose cell is missing: an added cell may solve them
            if entry.task.id not in reports:
                reports[entry.task.id] = grade_task(session, entry, None)
    except OutOfTime as error:
        trouble = str(error)
    finally:
        session.close()
    tasks = tuple(reports.get(entry.task.id) or entry.lost(trouble) for entry in sheet.entries)
    return Report(str(path), sheet.lesson.slug, tasks, submission.notes)


def entry_of(sheet: Sheet, task: str) -> Entry:
    return next(entry for entry in sheet.entries if entry.task.id == task)


def grade_task(session: Session, entry: Entry, run: Run | None) -> TaskReport:
    """Evaluate and judge one task's checks."""
    outcomes = session.outcomes([check.call for check in entry.checks])
    own = [name for name in session.refused if guilty(name, entry, run)]
    if own:
        return entry.lost(
            f"it imports {own[0]}, which this lesson asks you to build: no points for this task"
        )
    return entry.report(outcomes, note=run.error if run else "")


def guilty(name: str, entry: Entry, run: Run | None) -> bool:
    """Return whether a refused import stands in this task's own cell."""
    return run is not None and name.rpartition(".")[2] in run.piece.text


def grade_files(
    course: Course, paths: list[Path], limits: Limits = Limits()  # noqa: B008
) -> Iterator[Report]:  # fmt: skip
    """Grade files one by one; a file that cannot be read gets a report that says so."""
    sheets: dict[str, Sheet] = {}
    for path in paths:
        lesson: Lesson | None = None
        try:
            lesson = lesson_of(course, path)
            if lesson.slug not in sheets:
                sheets[lesson.slug] = make_sheet(lesson)
            yield grade(sheets[lesson.slug], path, limits)
        except (SubmissionError, KernelUnusable) as error:
            yield Report(str(path), lesson.slug if lesson else "", (), problem=str(error))
