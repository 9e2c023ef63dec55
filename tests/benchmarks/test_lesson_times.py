"""Seconds a lesson takes, top to bottom, and its slowest cell; printed, not asserted."""

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="needs the lab extra")

import nbformat

from ampcourse.courseware.build import client
from ampcourse.courseware.course import find_course

pytestmark = pytest.mark.benchmark

COURSE = find_course()


@pytest.mark.parametrize("slug", COURSE.slugs)
@pytest.mark.parametrize("folder", [COURSE.instructor, COURSE.learner], ids=lambda path: path.name)
def test_seconds_of_a_lesson(slug: str, folder: Path) -> None:
    nb: Any = nbformat.read(folder / f"{slug}.ipynb", as_version=4)
    ends = {}
    runner = client(nb, COURSE.learner)
    runner.on_cell_executed = lambda cell, **_: ends.update({cell.id: time.perf_counter()})
    start = last = time.perf_counter()
    runner.execute()
    spent = {}
    for cell, end in ends.items():
        spent[cell], last = end - last, end
    slowest = max(list(spent)[1:], key=lambda cell: spent[cell])  # the first waits for the kernel
    print(
        f"\n{folder.name}/{slug}: {time.perf_counter() - start:.1f} s in all, "
        f"slowest cell {slowest} {spent[slowest]:.1f} s"
    )
    assert len(ends) == sum(cell.cell_type == "code" for cell in nb.cells)
