"""A small course, and students who hand in notebooks of its one lesson."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("jupytext", reason="needs the lab extra")

from ampcourse.classroom.collection import Catalogue, Collection, collect
from ampcourse.classroom.grading import Marker, Progress, grade_class
from ampcourse.classroom.marking import Marked, mark
from ampcourse.classroom.store import Store
from ampcourse.classroom.workers import Job
from ampcourse.courseware.build import learner
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.sheet import Sheet
from tests.classroom.plain_kernels import PlainKernels
from tests.courseware.conftest import RIGHT, SAMPLE

LESSON = "90_sample"
WRONG = {**RIGHT, "t90_1": "def add_one(x):\n    return x - 1"}
LIMITS = Limits()


def notebook(solutions: dict[str, str] | None = None) -> bytes:
    """Return a learner's notebook with the given solutions, right ones if none are."""
    nb = learner(Catalogue(SAMPLE).lesson(LESSON))
    for cell in nb.cells:
        cell.source = (RIGHT if solutions is None else solutions).get(cell.id, cell.source)
    return nbformat.writes(nb).encode()


def here(
    jobs: Iterable[Job], sheets: dict[str, Sheet], limits: Limits
) -> Iterator[tuple[Job, Marked]]:
    """Mark in this process, without a kernel."""
    for job in jobs:
        yield job, mark(sheets[job.lesson], job.content(), job.shown, limits, PlainKernels())


@pytest.fixture
def course(tmp_path: Path) -> Catalogue:
    """A course of the one sample lesson, in a folder of its own."""
    shutil.copytree(SAMPLE, tmp_path / "course")
    return Catalogue(tmp_path / "course")


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Write a file below the folder `in`, a right notebook if nothing else is given."""

    def write(place: str, content: bytes | None = None) -> Path:
        path = tmp_path / "in" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook() if content is None else content)
        return path

    return write


@pytest.fixture
def gather(course: Catalogue, tmp_path: Path) -> Callable[..., Collection]:
    """Collect what lies in the folder `in`, or what is named."""

    def run(*paths: Path, **options: object) -> Collection:
        scratch = tmp_path / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        return collect(course, list(paths) or [tmp_path / "in"], scratch, **options)  # type: ignore[arg-type]

    return run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An open results folder."""
    made = Store(tmp_path / "grades")
    made.open()
    return made


@pytest.fixture
def graded(
    course: Catalogue, gather: Callable[..., Collection], store: Store
) -> Callable[..., Progress]:
    """Collect and grade what lies in the folder `in`."""

    def run(marker: Marker = here, limits: Limits = LIMITS, **options: object) -> Progress:
        collection = gather(**options)
        store.keep_collection(collection)
        return grade_class(course, collection, store, marker, limits)

    return run


def raw(path: Path) -> dict[str, object]:
    """Return a JSON file's content."""
    content: dict[str, object] = json.loads(path.read_bytes())
    return content
