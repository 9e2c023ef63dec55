"""Carry a plan out: part by part, row by row, each on the disk before the next is measured."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ampcourse.benchmark import rows
from ampcourse.benchmark.context import Context
from ampcourse.benchmark.gemm import gemm
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.plans import Gemm, LargestBatch, Part, Plan, Throughput, Training
from ampcourse.benchmark.rows import Row
from ampcourse.benchmark.throughput import throughput
from ampcourse.benchmark.trainings import images_of, largest_batches, trainings
from ampcourse.benchmark.wording import line
from ampcourse.distributed import SINGLE, Ranks


class Interrupted(KeyboardInterrupt):
    """A run was stopped; `rows` are those that were finished."""

    def __init__(self, found: list[Row]) -> None:
        super().__init__()
        self.rows = found


def run(
    plan: Plan,
    machine: Machine,
    out: Path,
    *,
    ranks: Ranks = SINGLE,
    folder: Path | None = None,
    seed: int = 0,
    started: float | None = None,
    quiet: bool = False,
) -> list[Row]:
    """Carry out a plan, add its rows to the file `out` as they end, and return them.

    The plan's time counts from `started`, a time.perf_counter(). Raises OSError, before anything is
    measured, where `out` cannot be written, ValueError (DatasetError) or FileNotFoundError for
    data, and Interrupted on Ctrl-C, after a row that says so. A recipe that fails, or a part, costs
    its own row alone. Rows that cannot be written any more, as on a full disk, are printed at the
    end. Under several processes the first one writes and prints.
    """
    deadline = (time.perf_counter() if started is None else started) + plan.seconds
    writer = _Writer(out if ranks.reports else None)
    quiet = quiet or not ranks.reports
    context = Context(
        machine,
        plan.name,
        deadline,
        ranks,
        seed,
        plan.use,
        folder,
        plan.peaks_s,
        _say(quiet),
    )
    _check(plan, context)
    try:
        for part in plan.parts:
            with _bar(part, context, quiet):
                for row in _measured(part, context):
                    writer.add(row)
                    context.say(line(row))
    except KeyboardInterrupt:
        message = "stopped by Ctrl-C; the rows before this one are whole"
        writer.add(context.row("failure", "interrupted", message))
        raise Interrupted(writer.rows) from None
    finally:
        writer.close()
    return writer.rows


def _measured(part: Part, context: Context) -> Iterator[Row]:
    try:
        yield from _rows_of(part, context)
    except Exception as error:
        if context.ranks.world_size > 1:  # the other processes would wait for this one for ever
            raise
        failed = context.failure("failure", error, None, getattr(part, "task", None))
        failed["message"] = f"{part.kind}: {failed['message']}"
    else:
        return
    context.machine.empty_cache()
    yield failed


def _rows_of(part: Part, context: Context) -> Iterator[Row]:
    if isinstance(part, Throughput):
        return throughput(part, context)
    if isinstance(part, Training):
        return trainings(part, context)
    if isinstance(part, LargestBatch):
        return largest_batches(part, context)
    return gemm(part, context)


def _check(plan: Plan, context: Context) -> None:
    """Read the data and look at the batches, so that what is wrong is said before measuring."""
    for part in plan.parts:
        if isinstance(part, Gemm):
            continue
        context.ranks.share(part.task.batch)
        data = images_of(part, context) if isinstance(part, Training) else context.data(part.task)
        count = len(data.train_images)
        if isinstance(part, Training) and part.task.batch > count:
            raise ValueError(
                f"a batch of {part.task.batch} is more than the {count} images of {data}; give a "
                f"smaller --batch, or the full data"
            )


class _Writer:
    """Adds rows to a file, and keeps them; those that could not be written are printed at last."""

    def __init__(self, out: Path | None) -> None:
        self.rows: list[Row] = []
        self._out = out
        self._unwritten: list[Row] = []
        if out is not None:
            probe(out)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if self._out is None:
            return
        if self._unwritten:
            self._unwritten.append(row)
            return
        try:
            rows.append(self._out, row)
        except OSError as error:
            self._unwritten.append(row)
            print(
                f"{self._out}: {error.strerror or error}; the rows from here on are kept and "
                "printed at the end",
                file=sys.stderr,
            )

    def close(self) -> None:
        for row in self._unwritten:
            print(json.dumps(row, ensure_ascii=False))


def probe(out: Path) -> None:
    """Make sure that rows can be added to a file, with as many bytes as a run writes.

    The file is as before afterwards, or empty if there was none. Raises OSError, which says what to
    try, for a folder or disk that takes no more, and BrokenRow for a file of something else.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_file() and out.stat().st_size:
            rows.read(out)
        with open(out, "ab") as file:
            size = file.tell()
            try:
                file.write(b" " * 2**18)
                file.flush()
                os.fsync(file.fileno())
            finally:
                if out.is_file():
                    file.truncate(size)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "free some space" if full else "choose a file in a folder you may write to"
        raise OSError(
            error.errno,
            f"{error.strerror}: results cannot be written; {advice}, or give --out",
            str(out),
        ) from error


def _say(quiet: bool) -> Callable[[str], None]:
    if quiet:
        return lambda text: None
    from tqdm import tqdm

    return lambda text: tqdm.write(text, file=sys.stdout)


@contextmanager
def _bar(part: Part, context: Context, quiet: bool) -> Iterator[None]:
    from tqdm import tqdm

    with tqdm(total=_units(part, context), desc=part.kind, disable=quiet, leave=False) as bar:
        context.progress = bar.update
        yield


def _units(part: Part, context: Context) -> int:
    if isinstance(part, Gemm):
        return len(part.sizes) * len(part.types)
    count = len(part.recipes)
    if isinstance(part, Throughput):
        return count * (1 + part.rounds)
    if isinstance(part, Training):
        steps = len(images_of(part, context).train_images) // part.task.batch
        return count * len(part.seeds) * part.epochs * steps
    return count
