"""The same marking on a dask.distributed cluster, whose workers have the course installed."""

import atexit
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from itertools import islice
from typing import Any

from ampcourse.classroom.marking import Marked, mark, ungraded
from ampcourse.classroom.workers import Job
from ampcourse.courseware.kernel import Kernels, Limits
from ampcourse.courseware.sandbox import best_kernels
from ampcourse.courseware.sheet import Sheet

PATIENCE = 20  # seconds for the scheduler to answer
AHEAD = 3  # jobs for each thread of the cluster, so that none waits and few are in memory


@cache
def own_kernels() -> Kernels:
    """Return the kernels of this worker's process, closed when it ends."""
    kernels = best_kernels()
    atexit.register(kernels.close)
    return kernels


def mark_remotely(sheet: Sheet, content: bytes, shown: str, limits: Limits) -> Marked:
    """Mark one notebook in a worker of the cluster."""
    return mark(sheet, content, shown, limits, own_kernels())


def mark_on_cluster(
    jobs: Iterable[Job], sheets: Mapping[str, Sheet], limits: Limits, address: str
) -> Iterator[tuple[Job, Marked]]:
    """Mark jobs on the cluster at `address` and yield each as it is done.

    A job whose worker dies is tried once more. Raises ValueError where dask.distributed or
    the cluster is not there.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            'dask.distributed is not installed: pip install -e ".[lab,cluster]" here and on '
            "the cluster, or leave out --scheduler"
        ) from None
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(f"no scheduler answers at {address!r} ({error})") from None
    with client:
        yield from jobs_done(client, iter(jobs), sheets, limits)


def jobs_done(
    client: Any, jobs: Iterator[Job], sheets: Mapping[str, Sheet], limits: Limits
) -> Iterator[tuple[Job, Marked]]:
    """Keep the cluster busy and yield what it has done."""
    executor = client.get_executor(retries=1, pure=False)
    there = {slug: client.scatter(sheet, broadcast=True) for slug, sheet in sheets.items()}
    ahead = max(1, AHEAD * sum(client.nthreads().values()))
    pending: dict[Future[Marked], Job] = {}
    try:
        while True:
            for job in islice(jobs, ahead - len(pending)):
                content = job.content()
                future = executor.submit(
                    mark_remotely, there[job.lesson], content, job.shown, limits
                )
                pending[future] = job
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                job = pending.pop(future)
                yield job, result(future, sheets[job.lesson], job)
    finally:
        for future in pending:
            future.cancel()


def result(future: "Future[Marked]", sheet: Sheet, job: Job) -> Marked:
    """Return what a future holds; a worker's death is no mark."""
    try:
        return future.result()
    except Exception as error:
        reason = f"the cluster gave no result ({type(error).__name__}: {error})"
        return Marked(ungraded(sheet.lesson, job.shown, reason))
