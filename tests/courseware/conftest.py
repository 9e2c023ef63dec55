"""A small course to test the machinery on, and notebooks handed in for it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ampcourse.courseware.build import learner
from ampcourse.courseware.course import Course
from ampcourse.courseware.sheet import Sheet, make_sheet

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
