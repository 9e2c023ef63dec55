"""A submission's kernel, kept alive: one that dies or will not stop is replaced and replayed."""

import ast
import time
from dataclasses import dataclass, field
from typing import Any

from ampcourse.courseware.kernel import Kernel, KernelLost, Kernels, Limits
from ampcourse.courseware.source import Lesson
from ampcourse.courseware.submission import Piece

HANGS = 2  # calls of one task that may run into the time limit before the rest is given up
RESTARTS = 8
PATIENCE = 10.0
GIVEN_UP = "was not tried: two calls before it did not end"


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
    reached: int = 0  # the last statement that was begun

    def blame(self, error: str) -> None:
        """Note that the kernel was lost after the code had run, by its last statement perhaps."""
        self.error = error
        if not self.whole:
            self.skip.add(self.reached)
        self.whole = False

    def again(self) -> "Run":
        """Return a run of the same code that knows which statements cost a kernel."""
        return Run(self.piece, whole=self.whole, skip=set(self.skip))


@dataclass
class Answers:
    """What a task's calls gave, in order, and the forbidden imports they tried."""

    outcomes: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    hangs: int = 0


@dataclass
class Session:
    """One run of a submission from its start."""

    lesson: Lesson
    limits: Limits
    kernels: Kernels
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
        if self.kernel is not None and self.kernel.lost:
            self.close()
        while self.kernel is None:
            self.kernel = self.kernels.start(self.lesson, self.limits)
            try:
                for run in self.runs:
                    self.play(run)
                self.refused()  # what was refused is known already
            except KernelLost:
                self.drop()
        return self.kernel

    def refused(self) -> list[str]:
        """Return the forbidden modules that the code has asked for since the last request."""
        assert self.kernel is not None
        # This is no call of the learner's.
        return self.kernel.refused(self.left(max(self.limits.check, PATIENCE)))

    def drop(self) -> None:
        """Give up a lost kernel; the next request starts another."""
        self.close()
        self.restarts += 1
        if self.restarts > RESTARTS:
            raise OutOfTime(f"its code ended or blocked the kernel {self.restarts} times")

    def close(self) -> None:
        """End the kernel."""
        if self.kernel is not None:
            self.kernel.close()
            self.kernel = None

    def add(self, run: Run) -> None:
        """Run a piece and keep it for replays."""
        while True:
            self.ready()
            try:
                self.play(run)
            except KernelLost:
                self.drop()
                continue
            try:
                run.refused += self.refused()
            except KernelLost as error:
                run.blame(f"this cell {error}")
                self.drop()
                continue
            self.runs.append(run)
            return

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
            run.reached = index
            try:
                if self.kernel.execute(statement, self.left(self.limits.cell)).status == "error":
                    return
            except KernelLost:
                run.skip.add(index)
                raise

    def ask(self, calls: list[str], answers: Answers) -> None:
        """Add the outcomes of a task's calls to what is known of it.

        A call enters the kernel when the one before it was answered: no code can look at those
        to come.
        """
        for call in calls:
            if answers.hangs < HANGS:
                answers.outcomes.append(self.answer(call, answers))
            else:
                answers.outcomes.append({"no_result": GIVEN_UP})

    def answer(self, call: str, answers: Answers) -> dict[str, Any]:
        """Return a call's outcome; one that costs the kernel has no result."""
        try:
            seconds = self.left(self.limits.check)
            outcome, refused = self.ready().evaluate(call, seconds)
        except KernelLost as error:
            self.drop()
            answers.hangs += 1
            return {"no_result": str(error)}
        answers.refused += refused
        return outcome


def statements(text: str) -> list[str]:
    """Return a cell's top-level statements; none where it is not plain Python."""
    try:
        nodes = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [ast.unparse(node) for node in nodes]
