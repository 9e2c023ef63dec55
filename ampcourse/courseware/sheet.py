"""What the grader holds of a lesson: set-up, and each task's checks with what they expect.

The check cells of the source run once, here, in recording mode: nothing of a learner's is
evaluated, so a sheet serves any number of submissions and never enters their kernels.
"""

from dataclasses import dataclass
from typing import Any

from ampcourse.courseware.checks import Check, Verdict, judge, recording
from ampcourse.courseware.report import Failure, TaskReport
from ampcourse.courseware.source import Lesson, SourceError, Task, marked_lines

HIDDEN_TEXT = 200


@dataclass(frozen=True)
class Entry:
    """One task with its checks; `hidden` holds the indices of the hidden ones."""

    task: Task
    checks: tuple[Check, ...]
    hidden: frozenset[int]

    @property
    def items(self) -> list[str]:
        """The distinct reasons: each is worth the same share of the points."""
        return list(dict.fromkeys(check.reason for check in self.checks))

    def part(self, hidden: bool) -> list[Check]:
        """Return the hidden checks, or the visible ones, in order."""
        return [check for at, check in enumerate(self.checks) if (at in self.hidden) == hidden]

    def in_order(
        self, visible: list[dict[str, Any]], hidden: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the outcomes of both parts in the order of all checks."""
        parts = iter(visible), iter(hidden)
        return [next(parts[at in self.hidden]) for at in range(len(self.checks))]

    def report(self, outcomes: list[dict[str, Any]]) -> TaskReport:
        """Judge the outcomes of all checks, in order, and count the items that hold."""
        verdicts = [
            judge(check, outcome) for check, outcome in zip(self.checks, outcomes, strict=True)
        ]
        lost = {verdict.check.reason for verdict in verdicts if not verdict.passed}
        share = (len(self.items) - len(lost)) / len(self.items)
        return TaskReport(
            id=self.task.id,
            title=self.task.title,
            points=self.task.points,
            score=round(self.task.points * share, 2),
            blank=all(verdict.waiting for verdict in verdicts),
            failures=tuple(self.failures(verdicts)),
        )

    def failures(self, verdicts: list[Verdict]) -> list[Failure]:
        """Return one failure per lost item: visible before hidden, a known cause before any."""
        chosen: dict[str, tuple[bool, bool, int]] = {}
        for index, verdict in enumerate(verdicts):
            if not verdict.passed:
                rank = (not verdict.trapped, index in self.hidden, index)
                reason = verdict.check.reason
                chosen[reason] = min(chosen.get(reason, rank), rank)
        return [
            Failure(
                call=verdicts[index].check.call,
                got=shortened(verdicts[index].got, hidden),
                expected=verdicts[index].check.expected.text,
                hint=verdicts[index].hint,
                hidden=hidden,
            )
            for _, hidden, index in chosen.values()
        ]

    def lost(self, note: str) -> TaskReport:
        """Return a report without points, with the reason."""
        task = self.task
        return TaskReport(task.id, task.title, task.points, 0.0, False, (), note)


def shortened(got: str, hidden: bool) -> str:
    """Cut what a hidden call gave: an error's text is long enough for other hidden calls."""
    return f"{got[:HIDDEN_TEXT]} …" if hidden and len(got) > HIDDEN_TEXT else got


@dataclass(frozen=True)
class Sheet:
    """One lesson as the grader sees it."""

    lesson: Lesson
    entries: tuple[Entry, ...]

    def entry(self, task: str) -> Entry:
        """Return a task's entry."""
        return next(entry for entry in self.entries if entry.task.id == task)


def make_sheet(lesson: Lesson) -> Sheet:
    """Record a lesson's checks; raises SourceError for an item without a hidden check."""
    return Sheet(lesson, tuple(make_entry(lesson, task) for task in lesson.tasks))


def make_entry(lesson: Lesson, task: Task) -> Entry:
    """Run one check cell in recording mode."""
    from ampcourse import courseware

    names = {name: getattr(courseware, name) for name in courseware.__all__}
    code = compile(task.check.text, f"{lesson.slug}:{task.id}_check", "exec")
    with recording() as notes:
        exec(code, {"__name__": f"{task.id}_check", **names})
    if list(notes) != [task.id]:
        raise SourceError(f"{lesson.slug}: the checks of {task.id} are for {list(notes)}")
    checks = tuple(notes[task.id])
    lines = marked_lines(task.check.text, "HIDDEN TESTS")
    hidden = frozenset(index for index, check in enumerate(checks) if check.line in lines)
    untested = {check.reason for check in checks} - {checks[index].reason for index in hidden}
    if untested:
        raise SourceError(
            f"{lesson.slug}: {task.id} checks {sorted(untested)} with visible inputs only, "
            "which can be tabulated: add hidden checks with the same reason"
        )
    return Entry(task, checks, hidden)
