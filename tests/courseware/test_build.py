"""Built notebooks: the same from run to run, nothing leaks, staleness is seen."""

import ast
from pathlib import Path

import nbformat
import pytest

from ampcourse.cli import main
from ampcourse.courseware.build import build, cell_metadata, instructor, learner, stale, text_of
from ampcourse.courseware.course import Course, CourseError, find_course
from ampcourse.courseware.source import Cell, SourceError

SLUG = "90_sample"


def source(course: Course) -> Path:
    return course.source / f"{SLUG}.py"


def test_two_builds_give_the_same_learners_copy_byte_for_byte(course: Course) -> None:
    one, two = (text_of(learner(course.lesson(SLUG))) for _ in range(2))
    assert one == two


def test_the_learners_copy_holds_no_solution_marker_hidden_check_or_output(course: Course) -> None:
    text = text_of(learner(course.lesson(SLUG)))
    for leak in ("SOLUTION", "HIDDEN", "return x + 1", "{x!r} is no int", "x - 1", '"output_type"'):
        assert leak not in text


def test_both_copies_have_the_same_cells_and_validate(course: Course) -> None:
    copies = learner(course.lesson(SLUG)), instructor(course.lesson(SLUG))
    for nb in copies:
        nbformat.validate(nb)
    ids = [[(cell.id, cell.cell_type, cell.metadata) for cell in nb.cells] for nb in copies]
    assert ids[0] == ids[1]
    assert ids[0][-1][0] == "progress"


def test_checks_and_what_serves_them_only_are_folded_and_nothing_else() -> None:
    for cell in (Cell("check", "pass"), Cell("setup", "pass", ("setup", "folded"))):
        assert cell_metadata(cell, 0)["jupyter"] == {"source_hidden": True}
    for cell in (Cell("setup", "pass", ("setup",)), Cell("demo", "pass"), Cell("task", "pass")):
        assert "jupyter" not in cell_metadata(cell, 0)


def test_a_heading_may_hold_any_quotation_mark(course: Course) -> None:
    text, title = source(course).read_text("utf-8"), 'Kahan\'s "sum"'
    source(course).write_text(text.replace("t90_1 · Add one", f"t90_1 · {title}"), "utf-8")
    cell = learner(course.lesson(SLUG)).cells[-1].source
    titles = ast.literal_eval(cell.partition("progress(")[2].removesuffix(")"))
    assert titles["t90_1"] == title


def test_a_build_is_fresh_and_any_change_after_it_is_seen(course: Course) -> None:
    build(course, SLUG)
    assert list(stale(course, SLUG)) == []
    solved = nbformat.read(course.instructor / f"{SLUG}.ipynb", as_version=4)
    assert all(cell.execution_count for cell in solved.cells if cell.cell_type == "code")
    text = source(course).read_text("utf-8")
    source(course).write_text(text.replace("as tasks can be", "as they can be"), "utf-8")
    assert len(list(stale(course, SLUG))) == 2
    source(course).write_text(text.replace('else "" + str(x)', "").replace("-1)", "-2)"), "utf-8")
    assert [line.split()[0] for line in stale(course, SLUG)] == [
        f"notebooks/instructor/{SLUG}.ipynb"  # a hidden check changed: the learner's did not
    ]


def test_a_missing_notebook_is_seen(course: Course) -> None:
    assert all("is missing" in line for line in stale(course, SLUG))


def test_a_lesson_whose_own_solution_fails_is_not_built(course: Course) -> None:
    text = source(course).read_text("utf-8")
    source(course).write_text(text.replace("return x + 1", "return x + 2"), "utf-8")
    with pytest.raises(SourceError, match="own solution fails"):
        build(course, SLUG)
    assert not (course.learner / f"{SLUG}.ipynb").exists()


def test_a_lesson_is_chosen_by_number_or_name(course: Course) -> None:
    assert course.select(["90"]) == course.select([SLUG]) == course.select([]) == [SLUG]
    with pytest.raises(CourseError, match="no lesson '7'; there are 90_sample"):
        course.select(["7"])


def test_the_course_is_found_from_any_folder_inside_it(course: Course) -> None:
    assert find_course(course.source).root == course.root


def test_the_command_says_what_is_stale_and_fails(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course.root)
    assert main(["build", "--check"]) == 1
    assert "is missing" in capsys.readouterr().out
    assert main(["build", "99"]) == 2
    assert "no lesson '99'" in capsys.readouterr().err
