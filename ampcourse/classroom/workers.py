"""A few processes that mark notebooks side by side.

concurrent.futures gives up its whole pool when one worker dies, and then nobody knows whose
notebook it was. Here each worker has a pipe of its own: a death costs one notebook one retry.
"""

import contextlib
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from ampcourse.classroom.marking import Marked, mark, ungraded
from ampcourse.courseware.kernel import Kernels, Limits
from ampcourse.courseware.sandbox import best_kernels
from ampcourse.courseware.sheet import Sheet

TRIES = 2
PATIENCE = 10  # seconds that a worker gets to end its kernels
SPAWN = get_context("spawn")  # a forked copy of a process with threads may hang
DIED = "the grader's process ended {tries} times while it was at this notebook"


@dataclass(frozen=True)
class Job:
    """One notebook to mark; `content` is read when its turn comes."""

    key: str
    lesson: str
    shown: str
    content: Callable[[], bytes]


@dataclass
class Worker:
    """A process, the pipe to it, the lessons whose sheets it has, and the job it is at."""

    process: Any
    pipe: "Connection[Any, Any]"
    sheets: Mapping[str, Sheet]
    known: set[str] = field(default_factory=set)
    job: Job | None = None
    tries: int = 0

    def give(self, job: Job, tries: int = 1) -> None:
        """Send a notebook, the first of a lesson with the lesson's sheet."""
        self.job, self.tries = job, tries
        sheet = None if job.lesson in self.known else self.sheets[job.lesson]
        self.known.add(job.lesson)
        with contextlib.suppress(OSError):  # a worker that is gone is noticed by its pipe
            self.pipe.send((job.lesson, sheet, job.shown, job.content()))

    def stop(self) -> None:
        """End the process, which ends its kernels first if it can."""
        self.pipe.close()
        if self.job:
            self.process.terminate()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def start_worker(
    sheets: Mapping[str, Sheet], limits: Limits, kernels: Callable[[], Kernels]
) -> Worker:
    """Start a process that marks what comes through its pipe."""
    ours, theirs = SPAWN.Pipe()
    # The sheets follow through the pipe: start() waits until all that it is given has been read.
    process = SPAWN.Process(target=work, args=(theirs, limits, kernels), daemon=False)
    process.start()
    theirs.close()
    return Worker(process, ours, sheets)


def work(pipe: "Connection[Any, Any]", limits: Limits, kernels: Callable[[], Kernels]) -> None:
    """Mark notebooks until the pipe closes, which it also does when the other side dies."""
    # Ctrl-C reaches the whole terminal; the parent decides. A handler, unlike SIG_IGN, is not
    # inherited by kernels, which must stay interruptible.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, leave)
    sheets: dict[str, Sheet] = {}
    with contextlib.suppress(EOFError, OSError), contextlib.closing(kernels()) as own:
        while True:
            lesson, sheet, shown, content = pipe.recv()
            if sheet:
                sheets[lesson] = sheet
            pipe.send(mark(sheets[lesson], content, shown, limits, own))


def leave(number: int, frame: Any) -> None:
    """End this process by way of its `finally` clauses, which end the kernels."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(1)


def mark_all(
    jobs: Iterable[Job],
    sheets: Mapping[str, Sheet],
    limits: Limits,
    count: int,
    kernels: Callable[[], Kernels] = best_kernels,
) -> Generator[tuple[Job, Marked], None, None]:
    """Mark jobs in `count` processes and yield each as it is done.

    A worker that dies is replaced and its notebook tried once more; after that it counts as
    not graded. Closing the iterator, as Ctrl-C does, ends the workers and their kernels.
    """
    waiting = iter(jobs)
    workers: list[Worker] = []
    try:
        first = list(islice(waiting, count))
        for _ in first:
            workers.append(start_worker(sheets, limits, kernels))
        for worker, job in zip(workers, first, strict=True):
            worker.give(job)
        while busy := {worker.pipe: worker for worker in workers if worker.job}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                job = worker.job
                assert job
                try:
                    marked: Marked = worker.pipe.recv()
                except (EOFError, OSError):
                    tries = worker.tries
                    worker.stop()
                    workers[workers.index(worker)] = worker = start_worker(sheets, limits, kernels)
                    if tries < TRIES:
                        worker.give(job, tries + 1)
                        continue
                    lesson = sheets[job.lesson].lesson
                    marked = Marked(ungraded(lesson, job.shown, DIED.format(tries=tries)))
                worker.job = None
                if following := next(waiting, None):
                    worker.give(following)
                yield job, marked
    finally:
        for worker in workers:
            worker.stop()
