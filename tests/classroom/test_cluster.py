"""A dask.distributed cluster finds what the workers here find."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ampcourse.classroom.grading import Progress
from ampcourse.classroom.store import Store
from tests.classroom.conftest import LESSON, WRONG, here, notebook
from tests.courseware.conftest import RIGHT

distributed = pytest.importorskip("distributed", reason="needs dask.distributed (cluster extra)")
Put = Callable[..., Path]
Graded = Callable[..., Progress]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Return the address of a scheduler with one worker process of one thread."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None,
        local_directory=str(tmp_path / "dask"),
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address


@pytest.mark.timeout(280)
def test_a_cluster_finds_the_same(graded: Graded, store: Store, put: Put, address: str) -> None:
    from ampcourse.classroom.cluster import mark_on_cluster

    for number in range(5):
        put(f"s{number}/{LESSON}.ipynb", notebook([RIGHT, WRONG, {}][number % 3]))
    assert graded(partial(mark_on_cluster, address=address)).graded == 5
    theirs = {record.student: record.report.tasks for record in store.records()}
    for path in (store.folder / "results").rglob("*.json"):
        path.unlink()
    graded(here)
    assert theirs == {record.student: record.report.tasks for record in store.records()}


def test_a_scheduler_that_is_not_there_is_told(
    graded: Graded, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ampcourse.classroom import cluster

    put(f"ann/{LESSON}.ipynb")
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with pytest.raises(ValueError, match=r"no scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        graded(partial(cluster.mark_on_cluster, address="tcp://127.0.0.1:9"))


def test_without_dask_the_extra_is_named(
    graded: Graded, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ampcourse.classroom.cluster import mark_on_cluster

    put(f"ann/{LESSON}.ipynb")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install -e \"\.\[lab,cluster\]\""):
        graded(partial(mark_on_cluster, address="x"))
