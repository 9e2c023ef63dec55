"""A teacher who stays with stock nbgrader can: release, validate and autograde all work."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="needs nbgrader (the test extra)")

from ampcourse.courseware.build import build, execute, learner
from ampcourse.courseware.course import Course
from tests.courseware.conftest import RIGHT, SAMPLE

WRONG = {**RIGHT, "t90_1": "def add_one(x):\n    return x - 1"}


# nbgrader calls alembic by name, which lies beside the interpreter.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def nbgrader(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An nbgrader course with the sample lesson released and three students' work."""
    folder = tmp_path_factory.mktemp("class")
    shutil.copytree(SAMPLE, folder / "course")
    course = Course(folder / "course")
    build(course, "90_sample")
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.course_id = 'amp'\n"
    )
    source = folder / "source" / "90_sample"
    source.mkdir(parents=True)
    shutil.copy(course.instructor / "90_sample.ipynb", source)
    made = nbgrader(folder, "generate_assignment", "90_sample", "--create", "--force")
    assert made.returncode == 0, made.stderr
    for student, solutions in (("right", RIGHT), ("wrong", WRONG), ("blank", {})):
        nb = nbformat.read(folder / "release" / "90_sample" / "90_sample.ipynb", as_version=4)
        for cell in nb.cells:
            cell.source = solutions.get(cell.id, cell.source)
        place = folder / "submitted" / student / "90_sample"
        place.mkdir(parents=True)
        nbformat.write(nb, place / "90_sample.ipynb")
    return folder


def test_generate_assignment_gives_the_learners_copy(class_folder: Path) -> None:
    released = nbformat.read(
        class_folder / "release" / "90_sample" / "90_sample.ipynb", as_version=4
    )
    ours = learner(Course(SAMPLE).lesson("90_sample"))
    assert [cell.id for cell in released.cells] == [cell.id for cell in ours.cells]
    for theirs, own in zip(released.cells, ours.cells, strict=True):
        stub = "# YOUR CODE HERE\n    raise NotImplementedError()"
        assert theirs.source.replace(stub, f'raise NotImplementedError("{own.id}")') == own.source
        assert not any("outputs" in cell and cell.outputs for cell in released.cells)


def test_validate_passes_the_instructors_copy(class_folder: Path) -> None:
    path = "course/notebooks/instructor/90_sample.ipynb"
    assert "passes all the tests" in nbgrader(class_folder, "validate", path).stdout


@pytest.mark.parametrize(
    ("student", "words"),
    [("wrong", "`add_one(1)` gave 0; expected 2: that is one less"), ("blank", "not solved yet")],
)
def test_validate_counts_a_failed_check_and_shows_its_message(
    class_folder: Path, student: str, words: str
) -> None:
    told = nbgrader(class_folder, "validate", f"submitted/{student}/90_sample/90_sample.ipynb")
    text = " ".join(told.stdout.split())
    assert "VALIDATION FAILED" in text.upper() or "failed" in text
    assert words[:50] in text


def test_autograde_counts_every_failed_check(class_folder: Path) -> None:
    graded = nbgrader(class_folder, "autograde", "90_sample", "--create")
    assert graded.returncode == 0, graded.stderr
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{class_folder / 'gradebook.db'}") as book:
        marks = {
            student: book.find_submission("90_sample", student).score
            for student in ("right", "wrong", "blank")
        }
    assert marks == {"right": 5, "wrong": 3, "blank": 0}


def test_run_all_goes_on_past_open_and_wrong_tasks(
    hand_in: Callable[..., Path], tmp_path: Path
) -> None:
    for solutions in ({}, WRONG):
        nb: Any = nbformat.read(hand_in(solutions), as_version=4)
        execute(nb, tmp_path)
        assert all(cell.execution_count for cell in nb.cells if cell.cell_type == "code")
        assert "of 2 tasks solved" in nb.cells[-1].outputs[0].data["text/plain"]
