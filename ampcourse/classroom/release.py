"""Writes what learners get: notebooks without answers, the library, how to begin."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ampcourse.classroom.learner_readme import learner_readme
from ampcourse.courseware.build import learner, text_of
from ampcourse.courseware.course import Course
from ampcourse.courseware.source import Lesson, marked_lines

ROOT_FILES = ("environment.yml", "pyproject.toml", "LICENSE", "LICENSE-CC-BY-4.0", ".gitignore")
LIBRARY = re.compile(r".*\.(py|js|css|html|json|jsonl|gz|md|mplstyle)|LICENSE.*")
IMAGES = re.compile(r".*\.(png|svg|jpg|jpeg|gif|webp)")
SHORT = 12  # a line of fewer letters, such as `else:`, gives nothing away


class ReleaseError(ValueError):
    """A release that is not written; the text says why."""


def release(course: Course, out: Path, slugs: list[str]) -> int:
    """Write the lessons `slugs` for learners into `out`, whole or not at all.

    Returns the number of files. Raises ReleaseError for a folder that holds something, or if
    a line of an answer were to get out; OSError.
    """
    refuse(course, out)
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}-"))
    try:
        write_notebooks(course, draft / "notebooks", slugs)
        copy(course.root / "ampcourse", draft / "ampcourse", LIBRARY)
        for name in ROOT_FILES:
            if (course.root / name).is_file():
                shutil.copyfile(course.root / name, draft / name)
        readme = learner_readme(course, slugs)
        (draft / "README.md").write_text(readme, "utf-8")
        if leaked := list(leaks(course, draft)):
            raise ReleaseError("nothing was written, as answers would get out: " + leaked[0])
        os.chmod(draft, 0o755)
        with contextlib.suppress(FileNotFoundError):
            out.rmdir()
        os.replace(draft, out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return sum(path.is_file() for path in out.rglob("*"))


def refuse(course: Course, out: Path) -> None:
    """Raise ReleaseError unless `out` is a new or empty folder in a fitting place."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ReleaseError(f"{out} is there and not empty: name a new folder, or empty it")
    place = out.resolve()
    for name in ("ampcourse", "notebooks", "tests"):
        if place.is_relative_to(course.root.resolve() / name):
            raise ReleaseError(f"{out} lies in the course's own {name}: name a folder outside")


def write_notebooks(course: Course, folder: Path, slugs: list[str]) -> None:
    """Write the learner's copies afresh from their sources, and the images."""
    folder.mkdir()
    for slug in slugs:
        (folder / f"{slug}.ipynb").write_text(text_of(learner(course.lesson(slug))), "utf-8")
    if (course.learner / "images").is_dir():
        copy(course.learner / "images", folder / "images", IMAGES)


def copy(source: Path, target: Path, wanted: re.Pattern[str]) -> None:
    """Copy the wanted files of a folder and its folders."""
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        hidden = any(part.startswith((".", "__pycache__")) for part in place.parts)
        if path.is_file() and not hidden and wanted.fullmatch(path.name):
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / place)


def leaks(course: Course, folder: Path) -> Iterator[str]:
    """Yield the lines of a lesson's solutions and hidden checks that its notebook holds.

    The library computes what the tasks ask for, so its lines may be a solution's; that a task
    forbids the import is what protects it.
    """
    for path in sorted((folder / "notebooks").glob("*.ipynb")):
        found = secrets(course.lesson(path.stem)) & lines_of(path)
        yield from (f"{path.name} holds the line {line!r}" for line in sorted(found))


def secrets(lesson: Lesson) -> set[str]:
    """Return the lines between a lesson's markers that no learner's copy shows elsewhere."""
    hidden: set[str] = set()
    for task in lesson.tasks:
        for text, name in ((task.solution.text, "SOLUTION"), (task.check.text, "HIDDEN TESTS")):
            lines = text.split("\n")
            hidden |= {lines[number - 1].strip() for number in marked_lines(text, name)}
    shown = "\n".join(cell.source for cell in learner(lesson).cells)
    open_ = {line.strip() for line in shown.split("\n")}
    return {line for line in hidden - open_ if sum(sign.isalnum() for sign in line) >= SHORT}


def lines_of(path: Path) -> set[str]:
    """Return a file's lines without their margins; a notebook's as its cells have them."""
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".ipynb":
        import nbformat

        text = "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
    return {line.strip() for line in text.split("\n")}
