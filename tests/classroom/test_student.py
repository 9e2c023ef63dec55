"""Platforms' names for files say whose they are."""

from pathlib import PurePosixPath

import pytest

from ampcourse.classroom.student import Owner, Student, is_copy, owner

LESSONS = ("01_floating_point", "02_rounding")


def told(place: str, root: str = "downloads") -> Owner:
    return owner(PurePosixPath(place), root, LESSONS)


@pytest.mark.parametrize(
    ("name", "attempt", "late"),
    [
        ("doejane_12345_67890_01_floating_point.ipynb", 0, False),
        ("doejane_LATE_12345_67890_01_floating_point.ipynb", 0, True),
        ("doejane_12345_67891_01_floating_point-2.ipynb", 2, False),
    ],
)
def test_a_canvas_name_holds_user_attempt_and_lateness(name: str, attempt: int, late: bool) -> None:
    found = told(name)
    assert found.student == Student("12345", "doejane", "12345")
    assert (found.attempt, found.late) == (attempt, late)
    assert found.own_name.startswith("01_floating_point")


def test_a_moodle_folder_holds_name_and_participant() -> None:
    found = told("Jane van der Doe_123456_assignsubmission_file_/work.ipynb")
    assert found.student == Student("Jane van der Doe", "Jane van der Doe", "123456")
    assert found.own_name == "work.ipynb"


@pytest.mark.parametrize(
    ("place", "student"),
    [
        ("jane/01_floating_point/01_floating_point.ipynb", "jane"),
        ("jane/01_floating_point/renamed.ipynb", "jane"),
        ("jane/01_floating_point/deeper/01_floating_point.ipynb", "jane"),
        ("jane/01/notebook.ipynb", "jane"),
        ("jane/01_floating_point.ipynb", "jane"),
        ("jane/homework.ipynb", "jane"),
        ("01_floating_point/jane.ipynb", "jane"),
        ("jane_01_floating_point.ipynb", "jane"),
        ("01_floating_point-jane (1).ipynb", "jane"),
        ("jane.ipynb", "jane"),
        ("01_floating_point.ipynb", "downloads"),
    ],
)
def test_folders_and_names_tell_the_student(place: str, student: str) -> None:
    assert told(place).student.id == student


@pytest.mark.parametrize("name", ["a-Copy1.ipynb", "a (2).ipynb", "a-1.ipynb", "a-Copy.ipynb"])
def test_copies_are_known_by_their_names(name: str) -> None:
    assert is_copy(name)
    assert not is_copy("01_floating_point.ipynb")
