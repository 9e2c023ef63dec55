"""Tries the course's own answers against its checks, lesson by lesson."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from ampcourse.courseware.answers import Answer, Desk, read_answers
from ampcourse.courseware.course import Course
from ampcourse.courseware.report import TaskReport
from ampcourse.courseware.sheet import make_sheet
from ampcourse.courseware.source import Task

HEADER = f"{'task':8} {'wrong: named':>14} {'right: full':>13} {'blank: 0':>10} {'solution':>10}"


@dataclass(frozen=True)
class Row:
    """One task: counts of answers that got what they deserve, of all, and what went wrong."""

    task: str
    wrong: tuple[int, int]
    right: tuple[int, int]
    blank: bool
    solution: bool
    faults: tuple[str, ...]

    @property
    def good(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        wrong, right = (f"{held} of {total}" for held, total in (self.wrong, self.right))
        blank, solution = ("yes" if held else "NO" for held in (self.blank, self.solution))
        return f"{self.task:8} {wrong:>14} {right:>13} {blank:>10} {solution:>10}"


def try_lesson(root: Path, slug: str) -> list[Row]:
    """Try all answers to a lesson's tasks, in this process."""
    course = Course(root)
    lesson = course.lesson(slug)
    desk, answers = Desk(make_sheet(lesson)), list(read_answers(course, slug))
    return [
        try_task(desk, task, [answer for answer in answers if answer.task == task.id])
        for task in lesson.tasks
    ]


def try_task(desk: Desk, task: Task, answers: list[Answer]) -> Row:
    """Try a task's answers, its stub and its solution."""
    faults = []
    held = {False: 0, True: 0}
    for answer in answers:
        fault = judge(answer, desk.report(task.id, answer.text))
        held[answer.right] += not fault
        faults += [f"{task.id}__{answer.name}: {fault}"] if fault else []
    blank, solved = desk.blank(task), desk.report(task.id, task.solution.text)
    if blank.score or not blank.blank:
        faults.append(f"{task.id}: the stub gets {blank.score:g} points")
    if solved.score != solved.points:
        faults.append(f"{task.id}: the lesson's solution loses points: {first(solved)}")
    rights = sum(answer.right for answer in answers)
    if rights < 2:
        faults.append(f"{task.id}: {rights} right answers; two are asked for")
    if rights == len(answers):
        faults.append(f"{task.id}: no wrong answer is known")
    return Row(
        task.id,
        (held[False], len(answers) - rights),
        (held[True], rights),
        blank.score == 0 and blank.blank,
        solved.score == solved.points,
        tuple(faults),
    )


def judge(answer: Answer, found: TaskReport) -> str:
    """Return what is wrong with the marks of an answer, empty if nothing is."""
    if answer.right:
        return "" if found.score == found.points else f"right, but loses points: {first(found)}"
    if found.score == found.points:
        return "wrong, but gets all points"
    named = answer.message in "\n".join(map(str, found.failures))
    return "" if named else f"its cause, {answer.message!r}, is not named: {first(found)}"


def first(found: TaskReport) -> str:
    """Return a report's first failure."""
    return str(found.failures[0]) if found.failures else found.note


def self_test(
    course: Course, slugs: Iterable[str], workers: int
) -> Iterator[tuple[str, list[Row]]]:
    """Yield each lesson's rows as they come; a process each, as answers may change state."""
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, max_tasks_per_child=1) as pool:
        lessons = {pool.submit(partial(try_lesson, course.root, slug)): slug for slug in slugs}
        try:
            for future in as_completed(lessons):
                yield lessons[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
