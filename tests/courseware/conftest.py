"""A small course to test the machinery on, and notebooks handed in for it."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from ampcourse.courseware.build import learner
from ampcourse.courseware.course import Course
from ampcourse.courseware.grade import grade
from ampcourse.courseware.kernel import Kernels, Limits
from ampcourse.courseware.report import Report
from ampcourse.courseware.sandbox import best_kernels
from ampcourse.courseware.sandbox.forked_kernel import ForkedKernels
from ampcourse.courseware.sandbox.notebook_kernel import NotebookKernels
from ampcourse.courseware.sheet import Sheet, make_sheet

HandIn = Callable[..., Path]
Mark = Callable[[Path], Report]
QUICK = Limits(cell=2, check=2, notebook=60, memory=1_000_000_000)
SECRET = "AMPCOURSE_TEST_SECRET"  # a variable of the grader's
SAMPLE = Path(__file__).parent / "sample"
RIGHT = {
    "t90_1": "def add_one(x):\n    return x + 1",
    "t90_2": (
        "def text_of(x):\n"
        "    if not isinstance(x, int):\n"
        "        raise ValueError('no int')\n"
        "    return str(x)"
    ),
}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of the one sample lesson, in a folder of its own."""
    shutil.copytree(SAMPLE, tmp_path / "course")
    return Course(tmp_path / "course")


@pytest.fixture(scope="session")
def sheet() -> Sheet:
    """The sample lesson's sheet."""
    return make_sheet(Course(SAMPLE).lesson("90_sample"))


@pytest.fixture(scope="session")
def kernels() -> Iterator[Kernels]:
    """The best kernels of this machine; they stay warm for all tests."""
    os.environ[SECRET] = "not for learners"
    with best_kernels() as best:
        yield best


@pytest.fixture(scope="session")
def forked(kernels: Kernels) -> ForkedKernels:
    """Kernels in bubblewrap."""
    if not isinstance(kernels, ForkedKernels):
        pytest.skip("needs bubblewrap (bwrap) and user namespaces, which do not work here")
    return kernels


@pytest.fixture(scope="session")
def plain() -> Iterator[NotebookKernels]:
    """Kernels that are a separate process with limits, as where bubblewrap is missing."""
    with NotebookKernels() as started:
        yield started


@pytest.fixture
def mark(sheet: Sheet, kernels: Kernels) -> Iterator[Mark]:
    """Grade a file of the sample lesson; no process may be left of what ran."""
    others = [child for child in psutil.Process().children() if "bwrap" not in child.name()]
    yield lambda path: grade(sheet, path, QUICK, kernels)
    assert processes_of_learners(others) == []


def processes_of_learners(others: list[psutil.Process]) -> list[str]:
    """Return the commands of processes below this one, but for bubblewrap and what it runs.

    A learner's process is a fork of the server's, so only its parent tells them apart. `others`
    were there before, such as another test's browser.
    """
    found = []
    mine = [child for child in psutil.Process().children() if child not in others]
    for child in [*mine, *(below for one in mine for below in one.children(recursive=True))]:
        with contextlib.suppress(psutil.Error):
            parent, ended = child.parent(), child.status() == psutil.STATUS_ZOMBIE
            if not ended and "bwrap" not in (child.name(), parent.name() if parent else ""):
                found.append(" ".join(child.cmdline()))
    return found


@pytest.fixture
def hand_in(tmp_path: Path) -> Callable[..., Path]:
    """Write a learner's notebook with the given solutions; `change` edits its JSON."""

    def write(
        solutions: dict[str, str] | None = None,
        change: Callable[[dict[str, Any]], None] | None = None,
        name: str = "90_sample.ipynb",
    ) -> Path:
        nb = learner(Course(SAMPLE).lesson("90_sample"))
        for cell in nb.cells:
            cell.source = (RIGHT if solutions is None else solutions).get(cell.id, cell.source)
        content = json.loads(nbformat.writes(nb))
        for cell in content["cells"]:
            cell["source"] = "".join(cell["source"])
        if change:
            change(content)
        path = tmp_path / name
        path.write_text(json.dumps(content), "utf-8")
        return path

    return write
