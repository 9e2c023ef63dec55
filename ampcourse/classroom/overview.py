"""The figures of a class, lesson by lesson."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from ampcourse.classroom.likeness import Pair, alike
from ampcourse.classroom.record import Record
from ampcourse.courseware.report import TaskReport

MOST = 12  # misconceptions and pairs shown for each lesson
STATES = ("full", "part", "none", "blank")


@dataclass(frozen=True)
class TaskFigures:
    """How many got how much of a task."""

    id: str
    title: str
    points: float
    counts: dict[str, int]
    mean: float

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def unsolved(self) -> bool:
        return self.total > 0 and not self.counts["full"]


@dataclass(frozen=True)
class Cause:
    """A misconception: the task, its name, which is the trap's message, and how many met it."""

    task: str
    name: str
    count: int


@dataclass(frozen=True)
class LessonFigures:
    """One lesson of a class."""

    lesson: str
    records: tuple[Record, ...]
    tasks: tuple[TaskFigures, ...]
    causes: tuple[Cause, ...]
    pairs: tuple[Pair, ...]
    more_pairs: int
    missing: tuple[str, ...]

    @property
    def graded(self) -> list[Record]:
        return [record for record in self.records if record.score is not None]

    @property
    def ungraded(self) -> list[Record]:
        return [record for record in self.records if record.score is None]

    @property
    def late(self) -> list[Record]:
        return [record for record in self.records if record.late]

    @property
    def points(self) -> float:
        return max((record.points for record in self.graded), default=0)

    @property
    def scores(self) -> list[float]:
        return sorted(record.report.score for record in self.graded)

    @property
    def median(self) -> float:
        return median(self.scores) if self.scores else 0


def state(task: TaskReport) -> str:
    """Return which of STATES a task's marks are."""
    if task.score == task.points:
        return "full"
    if task.score:
        return "part"
    return "blank" if task.blank else "none"


def figures(lesson: str, records: Iterable[Record], missing: Iterable[str]) -> LessonFigures:
    """Work out a lesson's figures from the records of all students."""
    mine = tuple(record for record in records if record.lesson == lesson)
    graded = [record for record in mine if record.score is not None]
    met = Counter(cause for record in graded for cause in record.causes)
    pairs = alike(lesson, ((one.student, one.submission, one.fingerprint) for one in graded))
    return LessonFigures(
        lesson=lesson,
        records=mine,
        tasks=task_figures(graded),
        causes=tuple(
            Cause(task, name, count)
            for (task, name), count in sorted(met.items(), key=lambda item: (-item[1], item[0]))
        )[:MOST],
        pairs=tuple(pairs[:MOST]),
        more_pairs=max(0, len(pairs) - MOST),
        missing=tuple(missing),
    )


def task_figures(graded: list[Record]) -> tuple[TaskFigures, ...]:
    """Count, for each task, how many got all, some and none of its points."""
    found: dict[str, list[TaskReport]] = {}
    for record in graded:
        for task in record.report.tasks:
            found.setdefault(task.id, []).append(task)
    return tuple(
        TaskFigures(
            id=id,
            title=tasks[-1].title,
            points=tasks[-1].points,
            counts={name: sum(state(task) == name for task in tasks) for name in STATES},
            mean=sum(task.score for task in tasks) / len(tasks),
        )
        for id, tasks in sorted(found.items())
    )
