"""Whose notebook a file is, told from its place and its name.

nbgrader collects into submitted/STUDENT/LESSON/. Canvas downloads flat files named
`name_[LATE_]user_submission_original`, and appends `-1` to the original name of a second
attempt. Moodle makes a folder `Name_participant_assignsubmission_file_` for each learner.
"""

import re
from dataclasses import dataclass
from pathlib import PurePath

CANVAS = re.compile(r"([^_]+)_(LATE_)?(\d+)_(\d+)_(.+)", re.DOTALL)
MOODLE = re.compile(r"(.+)_(\d+)_assignsubmission_(?:file|onlinetext)_?", re.DOTALL)
AGAIN = re.compile(r"-(\d+)$")
ATTEMPT = re.compile(r"(?:-\d+|-Copy\d*| ?\(\d+\))$")
SUFFIX = re.compile(r"\.ipynb(\.(txt|json))?$", re.IGNORECASE)
JOINTS = " _-."


@dataclass(frozen=True)
class Student:
    """One learner: `id` is unique in the class, `reference` is the platform's own number.

    Canvas numbers a user once and for all; Moodle numbers participants anew in each assignment.
    """

    id: str
    name: str = ""
    reference: str = ""


@dataclass(frozen=True)
class Owner:
    """Whose file it is, which attempt, whether the platform marked it late, and its own name."""

    student: Student
    attempt: int = 0
    late: bool = False
    own_name: str = ""


def owner(place: PurePath, root: str, lessons: tuple[str, ...]) -> Owner:
    """Tell whose a file is; `place` is its path below a folder called `root`."""
    *folders, name = place.parts
    for folder in reversed(folders):
        if found := MOODLE.fullmatch(folder):
            return Owner(Student(found[1], found[1], found[2]), own_name=name)
    if found := CANVAS.fullmatch(name):
        student = Student(found[3], found[1], found[3])
        return Owner(student, attempt(found[5]), bool(found[2]), found[5])
    return Owner(Student(by_place(folders, name, root, lessons)), own_name=name)


def by_place(folders: list[str], name: str, root: str, lessons: tuple[str, ...]) -> str:
    """Return the folder above a lesson's, else what a name adds to a lesson's, else a folder."""
    named = [index for index, folder in enumerate(folders) if lesson_named(folder, lessons)]
    if named and named[0] > 0:
        return folders[named[0] - 1]
    own = without_lesson(name, lessons)
    if folders and not named:
        return folders[0]
    return own or root


def without_lesson(name: str, lessons: tuple[str, ...]) -> str:
    """Return what is left of a file's name without its suffix, attempt and lesson."""
    stem = ATTEMPT.sub("", SUFFIX.sub("", name))
    for lesson in lessons:
        stem = stem.replace(lesson, "")
    return stem.strip(JOINTS)


def attempt(name: str) -> int:
    """Return the number that Canvas appends to another attempt's name; 0 for the first."""
    found = AGAIN.search(SUFFIX.sub("", name))
    return int(found[1]) if found else 0


def is_copy(name: str) -> bool:
    """Return whether a name looks like what JupyterLab or a browser calls a copy."""
    return ATTEMPT.search(SUFFIX.sub("", name)) is not None


def lesson_named(text: str, lessons: tuple[str, ...]) -> str:
    """Return the one lesson that a name contains, or an empty string."""
    found = [lesson for lesson in lessons if lesson in text]
    if not found:
        found = [lesson for lesson in lessons if text in (lesson[:2], f"lesson_{lesson[:2]}")]
    return found[0] if len(found) == 1 else ""
