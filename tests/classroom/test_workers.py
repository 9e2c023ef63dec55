"""Workers mark side by side; one that dies costs its notebook a retry and nobody else anything."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from ampcourse.classroom.grading import Progress
from ampcourse.classroom.marking import Marked
from ampcourse.classroom.store import Store
from ampcourse.classroom.workers import Job, mark_all
from ampcourse.courseware.kernel import Limits
from ampcourse.courseware.sheet import Sheet
from tests.classroom.conftest import LESSON, WRONG, here, notebook
from tests.classroom.plain_kernels import plain_kernels
from tests.courseware.conftest import RIGHT

Put = Callable[..., Path]
Graded = Callable[..., Progress]
MARKER = partial(mark_all, count=2, kernels=plain_kernels)
DEADLY = {**RIGHT, "t90_1": "import os\nos._exit(3)"}


def killer(flag: Path) -> dict[str, str]:
    """Return solutions that kill their process the first time, right ones after that."""
    text = f"import os, pathlib\np = pathlib.Path({str(flag)!r})\n"
    text += "if not p.exists():\n    p.touch()\n    os._exit(3)\n"
    return {**RIGHT, "t90_1": text + RIGHT["t90_1"]}


def workers() -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if "spawn_main" in cmd(one)]


def cmd(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_two_workers_find_what_one_process_finds(
    graded: Graded, store: Store, put: Put, tmp_path: Path
) -> None:
    for number in range(9):
        put(f"s{number}/{LESSON}.ipynb", notebook([RIGHT, WRONG, {}][number % 3]))
    assert graded(MARKER).graded == 9
    ours = [(record.student, record.report) for record in store.records()]
    store.open()
    for path in (store.folder / "results").rglob("*.json"):
        path.unlink()
    graded(here)
    assert ours == [(record.student, record.report) for record in store.records()]
    assert not workers()


def test_a_worker_that_dies_once_is_replaced_and_its_notebook_tried_again(
    graded: Graded, store: Store, put: Put, tmp_path: Path
) -> None:
    put(f"ann/{LESSON}.ipynb", notebook(killer(tmp_path / "flag")))
    put(f"bob/{LESSON}.ipynb")
    assert graded(MARKER).graded == 2
    assert (tmp_path / "flag").exists()
    assert {record.student: record.score for record in store.records()} == {"ann": 5, "bob": 5}


def test_a_notebook_that_kills_every_worker_has_no_mark_and_harms_no_other(
    graded: Graded, store: Store, put: Put
) -> None:
    put(f"ann/{LESSON}.ipynb", notebook(DEADLY))
    for student in ("bob", "cat", "dan"):
        put(f"{student}/{LESSON}.ipynb")
    progress = graded(MARKER)
    assert [record.student for record in progress.problems] == ["ann"]
    assert "ended 2 times" in progress.problems[0].report.problem
    scores = {record.student: record.score for record in store.records()}
    assert scores == {"ann": None, "bob": 5, "cat": 5, "dan": 5}
    assert not workers()


def test_breaking_off_ends_the_workers(graded: Graded, store: Store, put: Put) -> None:
    for number in range(6):
        put(f"s{number}/{LESSON}.ipynb")

    def breaks_off(
        jobs: Iterable[Job], sheets: dict[str, Sheet], limits: Limits
    ) -> Iterator[tuple[Job, Marked]]:
        done = mark_all(jobs, sheets, limits, 2, plain_kernels)
        yield next(done)
        done.close()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graded(breaks_off)
    assert len(list(store.records())) == 1
    assert not workers()
