"""Lesson 07's checks are not spoiled by an answer that leaves autocast switched on."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupytext", reason="needs the lab extra")
import nbformat
import torch

from ampcourse.courseware.agent import evaluate
from ampcourse.courseware.answers import Desk, read_answers
from ampcourse.courseware.course import find_course
from ampcourse.courseware.grade import grade
from ampcourse.courseware.sheet import make_sheet
from ampcourse.courseware.source import Lesson

COURSE = find_course()
SLUG = "07_autocast"
WRONG = {a.name: a for a in read_answers(COURSE, SLUG) if not a.right and a.task == "t07_3"}
LEAKING = ("on_again_in_any_case", "off_and_on_by_hand", "entered_and_never_left")
LATER = ("t07_2", "t07_3", "t07_4", "t07_5", "t07_6")


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return COURSE.lesson(SLUG)


@pytest.fixture(scope="module")
def desk(lesson: Lesson) -> Desk:
    return Desk(make_sheet(lesson))


@pytest.fixture(autouse=True)
def autocast_put_back(desk: Desk) -> Iterator[None]:
    yield
    desk.names["reset_autocast"]()


def state() -> tuple[Any, ...]:
    """Return autocast's switch, type and cache on the CPU, and how deep in regions we are."""
    depth = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    kind, cache = torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()
    return torch.is_autocast_enabled("cpu"), kind, cache, depth


def leak() -> None:
    """Leave autocast as a bad answer may: in a region never left, on, in FP16, without cache."""
    torch.autocast("cpu", dtype=torch.float16, cache_enabled=False).__enter__()


def solution(lesson: Lesson, task: str) -> str:
    return next(t.solution.text for t in lesson.tasks if t.id == task)


@pytest.mark.parametrize("name", LEAKING)
def test_an_answer_that_leaks_its_autocast_leaves_the_state_as_it_was(
    desk: Desk, name: str
) -> None:
    before = state()
    found = desk.report("t07_3", WRONG[name].text)
    assert found.score < found.points
    assert state() == before


@pytest.mark.parametrize("name", LEAKING)
def test_right_answers_after_one_that_leaks_keep_full_marks(
    lesson: Lesson, desk: Desk, name: str
) -> None:
    desk.outcomes("t07_3", WRONG[name].text)
    for task in LATER:
        found = desk.report(task, solution(lesson, task))
        assert (task, found.score, found.failures) == (task, found.points, ())


def test_right_answers_keep_full_marks_in_a_kernel_that_is_spoiled_already(
    lesson: Lesson, desk: Desk
) -> None:
    for task in LATER:
        leak()
        found = desk.report(task, solution(lesson, task))
        assert (task, found.score, found.failures) == (task, found.points, ())


def test_a_wrong_answer_is_not_accepted_in_a_kernel_that_is_spoiled_already(desk: Desk) -> None:
    wrong = next(a for a in read_answers(COURSE, SLUG) if a.name == "backward_runs_in_fp32")
    leak()
    found = desk.report(wrong.task, wrong.text)
    assert wrong.message in str(found.failures)


def test_a_notebooks_check_expects_the_same_in_a_kernel_that_is_spoiled_already(
    lesson: Lesson,
) -> None:
    right = make_sheet(lesson).entries
    torch.set_autocast_dtype("cpu", torch.float16)
    for wanted, task in zip(right, lesson.tasks, strict=True):
        torch.set_autocast_enabled("cpu", True)
        again = next(e for e in make_sheet(lesson).entries if e.task.id == task.id)
        assert [c.expected for c in again.checks] == [c.expected for c in wanted.checks]


def test_the_grader_takes_no_points_from_tasks_after_one_that_leaks(
    lesson: Lesson, tmp_path: Path
) -> None:
    nb = nbformat.read(COURSE.instructor / f"{SLUG}.ipynb", as_version=4)
    for cell in nb.cells:
        if cell.source == solution(lesson, "t07_3"):
            cell.source = WRONG["on_again_in_any_case"].text
    path = tmp_path / f"{SLUG}.ipynb"
    nbformat.write(nb, path)
    lost = {t.id for t in grade(make_sheet(lesson), path).tasks if t.score < t.points}
    assert lost == {"t07_3"}


def test_reset_autocast_heals_every_part_of_the_state(desk: Desk) -> None:
    before = state()
    leak()
    leak()
    assert state() != before
    desk.names["reset_autocast"]()
    assert state() == before
    torch.autocast_decrement_nesting()  # a region that was left twice
    desk.names["reset_autocast"]()
    assert state() == before


def test_shown_tells_type_numbers_and_signs() -> None:
    names: dict[str, Any] = dict(Desk(make_sheet(COURSE.lesson(SLUG))).names)
    call = "shown((torch.tensor([-0.0, 2049.0]).bfloat16(), [torch.ones(1, 1), None, 3]))"
    inner = ["list", [["str", "float32 [[1.0]]"], ["none"], ["int", "0x3"]]]
    right = ["list", [["str", "bfloat16 [-0.0, 2048.0]"], inner]]
    assert evaluate(call, names) == {"value": right}


def bound(text: str) -> set[str]:
    """Return the names that a cell binds in the notebook."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(text)]
    inner = ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif not isinstance(node, inner):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            waiting += ast.iter_child_nodes(node)
    return found - {"_"}


def test_no_check_overwrites_a_name_of_a_cell_before_or_after_it(lesson: Lesson) -> None:
    cells = [c for c in lesson.cells if c.part in ("setup", "demo", "task")]
    theirs = {name: c.text for c in cells for name in bound(c.text)}
    for task in lesson.tasks:
        assert bound(task.check.text) & theirs.keys() <= {"shown"}, task.id
