"""What must hold for every lesson there is, without a line here for any one of them."""

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbformat", reason="needs the lab extra")

import nbformat

from ampcourse.courseware.build import MAX_INSTRUCTOR_BYTES, execute, stale
from ampcourse.courseware.course import find_course
from ampcourse.courseware.grade import grade
from ampcourse.courseware.sheet import make_sheet
from ampcourse.courseware.source import marked_lines

COURSE = find_course()
each_lesson = pytest.mark.parametrize("slug", COURSE.slugs)
IGNORED_SHARE = 0.45  # of code cells whose outputs nbval does not compare
LINK = re.compile(r"\]\(([^)/]+\.ipynb)\)")
NAMED = re.compile(r"`(\d\d_[a-z0-9_]+)`")
EMOJI = re.compile("[\U0001f000-\U0001ffff\u2600-\u26ff]")


def notebook(folder: Path, slug: str) -> Any:
    return nbformat.read(folder / f"{slug}.ipynb", as_version=4)


def prose(slug: str) -> str:
    return "\n".join(cell.text for cell in COURSE.lesson(slug).cells if cell.part == "prose")


@each_lesson
def test_the_committed_notebooks_are_what_the_source_builds(slug: str) -> None:
    assert list(stale(COURSE, slug)) == []


@each_lesson
def test_a_lesson_that_is_named_is_linked_and_there(slug: str) -> None:
    nb = notebook(COURSE.learner, slug)
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    links = LINK.findall(text)
    assert links
    assert [link for link in links if not (COURSE.learner / link).is_file()] == []
    assert NAMED.findall(text) == []


@each_lesson
def test_the_instructors_copy_is_executed_without_an_error_and_small(slug: str) -> None:
    nb = notebook(COURSE.instructor, slug)
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert (COURSE.instructor / f"{slug}.ipynb").stat().st_size <= MAX_INSTRUCTOR_BYTES


@each_lesson
def test_the_instructors_copy_gets_full_marks_from_the_grader(slug: str) -> None:
    report = grade(make_sheet(COURSE.lesson(slug)), COURSE.instructor / f"{slug}.ipynb")
    assert (report.score, report.notes) == (report.points, ())


@each_lesson
def test_the_learners_copy_scores_zero_from_the_grader(slug: str) -> None:
    report = grade(make_sheet(COURSE.lesson(slug)), COURSE.learner / f"{slug}.ipynb")
    assert report.score == 0
    assert all(task.blank for task in report.tasks)


@each_lesson
def test_run_all_in_the_learners_copy_reaches_the_end_and_only_tasks_wait(slug: str) -> None:
    nb = notebook(COURSE.learner, slug)
    execute(nb, COURSE.learner)
    errors = {
        cell.id: output.evalue
        for cell in nb.cells
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    }
    tasks = [task.id for task in COURSE.lesson(slug).tasks]
    assert errors == {f"{task}_check": f"{task} is not solved yet" for task in tasks}
    assert f"0 of {len(tasks)} tasks" in nb.cells[-1].outputs[0].data["text/plain"]


def test_lesson_01_loads_no_torch_from_start_to_end() -> None:
    nb = notebook(COURSE.instructor, "01_floating_point")
    nb.cells.append(nbformat.v4.new_code_cell("import sys\nprint('torch' in sys.modules)"))
    execute(nb, COURSE.learner)
    assert nb.cells[-1].outputs[0].text == "False\n"


@each_lesson
def test_no_solution_line_is_in_the_learners_copy(slug: str) -> None:
    learner = "\n".join(cell.source for cell in notebook(COURSE.learner, slug).cells)
    for task in COURSE.lesson(slug).tasks:
        lines = task.solution.text.split("\n")
        for number in marked_lines(task.solution.text, "SOLUTION"):
            line = lines[number - 1].strip()
            if len(line) > 24:
                assert line not in learner


@each_lesson
def test_most_outputs_are_compared(slug: str) -> None:
    code = [cell for cell in COURSE.lesson(slug).cells if cell.part != "prose"]
    ignored = [cell for cell in code if "nbval-ignore-output" in cell.tags]
    assert len(ignored) / len(code) <= IGNORED_SHARE


@each_lesson
def test_demonstrations_are_short(slug: str) -> None:
    cells = [cell for cell in COURSE.lesson(slug).cells if cell.part == "demo"]
    lengths = [len([line for line in cell.text.split("\n") if line.strip()]) for cell in cells]
    assert statistics.median(lengths) <= 5
    assert max(lengths) <= 14


@each_lesson
def test_prose_keeps_to_its_rules(slug: str) -> None:
    text = re.sub(r"`[^`]*`|\$[^$]*\$|!\[", "", prose(slug))
    assert "!" not in text
    assert not EMOJI.search(text)
    assert len(re.findall("mantissa", text)) <= 1


@each_lesson
def test_a_lesson_has_between_one_and_six_tasks_and_says_where_to_go(slug: str) -> None:
    assert 1 <= len(COURSE.lesson(slug).tasks) <= 6
    assert re.search(r"\d\d_[a-z]+", prose(slug))


@each_lesson
def test_notebooks_name_a_kernel_and_their_lesson(slug: str) -> None:
    for folder in (COURSE.learner, COURSE.instructor):
        metadata = json.loads((folder / f"{slug}.ipynb").read_text("utf-8"))["metadata"]
        assert metadata["kernelspec"]["name"] == "python3"
        assert metadata["ampcourse"] == {"lesson": slug}
