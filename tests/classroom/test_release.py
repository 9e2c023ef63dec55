"""What learners get holds no answers: every solution line and hidden check is looked for."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from ampcourse.classroom.collection import Catalogue
from ampcourse.classroom.release import ReleaseError, release
from ampcourse.courseware.build import learner
from ampcourse.courseware.course import find_course
from ampcourse.courseware.source import Lesson, is_inside, marked_lines
from tests.classroom.conftest import LESSON

COURSE = Catalogue(find_course().root)
# So many secret lines in a row give something away; fewer are how anybody writes a loop.
RUN = {"SOLUTION": 3, "HIDDEN TESTS": 4}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "course"
    release(COURSE, folder, list(COURSE.slugs))
    return folder


def secret_blocks(lesson: Lesson) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines between markers, as (SOLUTION or HIDDEN TESTS, lines)."""
    for task in lesson.tasks:
        for text, name in ((task.solution.text, "SOLUTION"), (task.check.text, "HIDDEN TESTS")):
            lines = text.split("\n")
            yield name, [lines[number - 1].strip() for number in sorted(marked_lines(text, name))]


def runs(lines: list[str], length: int) -> set[tuple[str, ...]]:
    """Return all runs of so many lines that say something."""
    told = [line for line in lines if sum(sign.isalnum() for sign in line) > 8]
    return {tuple(told[at : at + length]) for at in range(len(told) - length + 1)}


def test_no_line_of_an_answer_is_in_its_notebook(out: Path) -> None:
    for slug in COURSE.slugs:
        lesson = COURSE.lesson(slug)
        nb = nbformat.read(out / "notebooks" / f"{slug}.ipynb", as_version=4)
        released = {line.strip() for cell in nb.cells for line in cell.source.split("\n")}
        open_ = allowed(lesson)
        for name, lines in secret_blocks(lesson):
            told = {line for line in lines if sum(map(str.isalnum, line)) > 8} - open_
            assert not told & released, (slug, name)


def allowed(lesson: Lesson) -> set[str]:
    """Return the lines that stand outside of all markers too, and so are no secret."""
    open_: set[str] = set()
    for cell in lesson.cells:
        name = {"task": "SOLUTION", "check": "HIDDEN TESTS"}.get(cell.part)
        marked = marked_lines(cell.text, name) if name else set()
        lines = enumerate(cell.text.split("\n"), 1)
        open_ |= {line.strip() for number, line in lines if number not in marked}
    return open_


def test_no_run_of_secret_lines_is_in_any_file_but_a_module_the_lesson_forbids(out: Path) -> None:
    texts = {
        path.relative_to(out): {name: runs(lines_of(path), RUN[name]) for name in RUN}
        for path in out.rglob("*")
        if path.suffix in (".py", ".ipynb", ".md", ".json", ".js", ".yml", ".toml")
    }
    for slug in COURSE.slugs:
        lesson = COURSE.lesson(slug)
        open_ = allowed(lesson)
        for name, lines in secret_blocks(lesson):
            secret = runs([line for line in lines if line not in open_], RUN[name])
            for place, found in texts.items():
                module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
                if not any(is_inside(module, parent) for parent in lesson.forbidden):
                    assert not secret & found[name], (slug, name, place)


def lines_of(path: Path) -> list[str]:
    """Return a file's lines without margins; of a notebook, its cells'."""
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".ipynb":
        text = "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
    return [line.strip() for line in text.split("\n")]


def test_nothing_but_notebooks_library_and_papers_is_released(out: Path) -> None:
    assert {path.name for path in out.iterdir()} == {
        ".gitignore",
        "LICENSE",
        "LICENSE-CC-BY-4.0",
        "README.md",
        "ampcourse",
        "environment.yml",
        "notebooks",
        "pyproject.toml",
    }
    names = {path.name for path in (out / "notebooks").iterdir()}
    assert names == {"images", *(f"{slug}.ipynb" for slug in COURSE.slugs)}
    parts = {part for path in out.rglob("*") for part in path.relative_to(out).parts}
    assert not parts & {"source", "instructor", "wrong_answers", "right_answers", "tests", ".git"}
    assert not parts & {"__pycache__", ".ipynb_checkpoints"}


def test_the_whole_library_is_released(out: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "ampcourse"], cwd=COURSE.root, capture_output=True, text=True
    ).stdout.split()
    if not tracked:
        pytest.skip("this copy of the course is no git clone")
    assert [name for name in tracked if not (out / name).is_file()] == []


def test_the_notebooks_are_the_learners_without_outputs(out: Path) -> None:
    for slug in COURSE.slugs:
        nb = nbformat.read(out / "notebooks" / f"{slug}.ipynb", as_version=4)
        assert [cell.source for cell in nb.cells] == [
            cell.source for cell in learner(COURSE.lesson(slug)).cells
        ]
        assert not any(cell.get("outputs") for cell in nb.cells)
        text = json.dumps(nb)
        assert "BEGIN SOLUTION" not in text
        assert "HIDDEN TESTS" not in text


def test_the_readme_leads_to_what_is_there_and_to_no_answers(out: Path) -> None:
    text = (out / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [link for link in links if "://" not in link and not (out / link).exists()] == []
    for word in ("instructor", "notebooks/source", "ampcourse grade", "tests/", "ampcourse test"):
        assert word not in text
    assert "no guarantee" in text


def test_the_released_library_runs(out: Path) -> None:
    code = (
        "from ampcourse.courseware import check, task\n"
        "import ampcourse, ampcourse.classroom.visible; print(ampcourse.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=out, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(out)},
    )  # fmt: skip
    assert done.stdout.strip() == str(out / "ampcourse" / "__init__.py")


def small(course: Catalogue) -> Catalogue:
    (course.root / "ampcourse").mkdir(exist_ok=True)
    (course.root / "ampcourse" / "__init__.py").write_text("")
    return course


def test_only_the_lessons_named_are_released(course: Catalogue, tmp_path: Path) -> None:
    text = (course.source / f"{LESSON}.py").read_text("utf-8")
    (course.source / "91_other.py").write_text(text.replace("t90_", "t91_"), "utf-8")
    release(small(course), tmp_path / "out", [LESSON])
    assert [path.name for path in (tmp_path / "out" / "notebooks").iterdir()] == [f"{LESSON}.ipynb"]
    assert "91_other" not in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_a_folder_that_holds_something_is_refused(course: Catalogue, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("")
    with pytest.raises(ReleaseError, match="is there and not empty"):
        release(small(course), tmp_path / "out", [LESSON])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_a_folder_inside_the_courses_own_is_refused(course: Catalogue) -> None:
    with pytest.raises(ReleaseError, match="lies in the course's own notebooks"):
        release(small(course), course.learner / "out", [LESSON])


def test_an_empty_folder_is_filled(course: Catalogue, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    release(small(course), tmp_path / "out", [LESSON])
    assert (tmp_path / "out" / "notebooks" / f"{LESSON}.ipynb").is_file()


def test_after_a_fault_nothing_is_left(
    course: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        release(small(course), tmp_path / "out", [LESSON])
    assert sorted(tmp_path.iterdir()) == before


def test_an_answer_that_the_learners_copy_shows_stops_the_release(
    course: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def solved(lesson: Lesson) -> object:
        from ampcourse.courseware.build import instructor

        return instructor(lesson)

    monkeypatch.setattr("ampcourse.classroom.release.learner", solved)
    monkeypatch.setattr("ampcourse.classroom.release.secrets", secrets_of_source)
    with pytest.raises(ReleaseError, match="answers would get out"):
        release(small(course), tmp_path / "out", [LESSON])
    assert not (tmp_path / "out").exists()


def secrets_of_source(lesson: Lesson) -> set[str]:
    return {line for _, lines in secret_blocks(lesson) for line in lines}
