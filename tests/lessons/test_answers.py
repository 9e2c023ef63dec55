"""Every known answer to every task of every lesson gets the marks it deserves.

The tests are made from the files: a new lesson or answer needs no line here.
"""

import ast
from functools import cache
from typing import Any

import pytest

pytest.importorskip("jupytext", reason="needs the lab extra")

from ampcourse.courseware.answers import Answer, Desk, read_answers
from ampcourse.courseware.course import find_course
from ampcourse.courseware.report import TaskReport
from ampcourse.courseware.sheet import make_sheet
from ampcourse.courseware.source import Task

COURSE = find_course()
ANSWERS = [(slug, answer) for slug in COURSE.slugs for answer in read_answers(COURSE, slug)]
TASKS = [(slug, task) for slug in COURSE.slugs for task in COURSE.lesson(slug).tasks]


@cache
def desk(slug: str) -> Desk:
    return Desk(make_sheet(COURSE.lesson(slug)))


@cache
def outcomes(slug: str, answer: Answer) -> list[dict[str, Any]]:
    return desk(slug).outcomes(answer.task, answer.text)


@cache
def report(slug: str, answer: Answer) -> TaskReport:
    return desk(slug).sheet.entry(answer.task).report(outcomes(slug, answer))


def messages(found: TaskReport) -> str:
    return "\n".join(map(str, found.failures))


def named(right: bool) -> list[object]:
    chosen = [(slug, answer) for slug, answer in ANSWERS if answer.right == right]
    return [pytest.param(*pair, id=f"{pair[1].task}__{pair[1].name}") for pair in chosen]


each_task = pytest.mark.parametrize(
    ("slug", "task"), [pytest.param(*pair, id=pair[1].id) for pair in TASKS]
)


@pytest.mark.parametrize(("slug", "answer"), named(right=False))
def test_a_wrong_answer_loses_marks_with_its_cause(slug: str, answer: Answer) -> None:
    found = report(slug, answer)
    assert found.score < found.points
    assert answer.message in messages(found)


@pytest.mark.parametrize(("slug", "answer"), named(right=False))
def test_no_other_misconception_gets_this_ones_message(slug: str, answer: Answer) -> None:
    for _, other in ANSWERS:
        if other.task != answer.task or other.right or other.message == answer.message:
            continue
        if repr(outcomes(slug, other)) != repr(outcomes(slug, answer)):
            assert answer.message not in messages(report(slug, other)), other.name


@pytest.mark.parametrize(("slug", "answer"), named(right=True))
def test_a_right_answer_gets_full_marks(slug: str, answer: Answer) -> None:
    found = report(slug, answer)
    assert (found.score, messages(found)) == (found.points, "")


@pytest.mark.parametrize(("slug", "answer"), named(right=True))
def test_a_right_answer_imports_nothing_forbidden(slug: str, answer: Answer) -> None:
    forbidden = set(desk(slug).sheet.lesson.forbidden)
    for node in ast.walk(ast.parse(answer.text)):
        if isinstance(node, ast.Import):
            assert not forbidden & {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.module not in forbidden


@each_task
def test_blank_work_scores_zero_and_only_waits(slug: str, task: Task) -> None:
    found = desk(slug).blank(task)
    assert (found.score, found.blank) == (0, True)


@each_task
def test_the_lessons_own_solution_gets_full_marks(slug: str, task: Task) -> None:
    found = desk(slug).report(task.id, task.solution.text)
    assert (found.score, messages(found)) == (found.points, "")


@each_task
def test_a_task_has_a_wrong_answer_and_two_right_ones(slug: str, task: Task) -> None:
    kinds = [answer.right for _, answer in ANSWERS if answer.task == task.id]
    assert kinds.count(False) >= 1
    assert kinds.count(True) >= 2


def test_every_answer_belongs_to_a_task() -> None:
    assert {answer.task for _, answer in ANSWERS} <= {task.id for _, task in TASKS}
