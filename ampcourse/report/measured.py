"""What was measured, as tables: rates, trainings, matrix products; and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ampcourse.report.comparison import Entry, Group, Training, TrainingGroup
from ampcourse.report.published import above
from ampcourse.report.table import UNKNOWN, Table, number


def rate_table(group: Group) -> Table:
    """Return measured rates beside their limits; what a ratio means stands below."""
    head = ("recipe", "images/s", "ratio", "95 %", "limit/s", "of limit", "ratio of limits")
    more = ("peak MB", "largest batch")
    rows = tuple(_rate_row(entry) for entry in group.entries)
    return Table(group.title, (*head, *more), rows, tuple(_rate_remarks(group)))


def _rate_row(entry: Entry) -> tuple[str, ...]:
    row = entry.row
    interval = row.get("ratio_interval") if entry.ratio is not None else None
    mark = "*" if entry.ratio is not None and entry.host_bound else ""
    return (
        entry.recipe,
        number(entry.rate),
        number(entry.ratio, ".2f") + mark if entry.ratio is not None else "1",
        "" if not interval else f"{interval[0]:.2f}-{interval[1]:.2f}",
        number(entry.limit),
        number(entry.share, ".0%"),
        number(entry.limit_ratio, ".2f") if entry.ratio is not None else "1",
        number(row.get("peak_allocated"), ",.0f", 1e-6),
        _largest(entry),
    )


def _rate_remarks(group: Group) -> Iterable[str]:
    yield about(group.entries[0].row)
    if any(entry.host_bound and entry.ratio is not None for entry in group.entries):
        yield (
            "* host-bound: in this run or in its baseline the host was issuing work for more than "
            "90 % of the step. The ratio says how fast that goes; it is no speed-up of mixed "
            "precision. Larger batches or images would show one."
        )
    for entry in group.entries:
        if entry.share is not None:
            yield from filter(None, [above(entry.share, entry.recipe)])
    if any(entry.largest_batch for entry in group.entries):
        yield (
            "Two gains, not one: the ratio is that of equal batches; the largest batch that fits, "
            "with its ratio to the baseline's, is a gain in memory."
        )


def about(row: Mapping[str, Any]) -> str:
    """Return in words on what and with what a row was measured."""
    machine = row["machine"]
    parts = [f"torch {machine.get('torch', UNKNOWN)}", f"data: {_source(row)}"]
    if machine.get("kind") == "cuda":
        parts += [f"CUDA {machine.get('cuda')}", f"driver {machine.get('driver') or UNKNOWN}"]
    else:
        threads = machine.get("threads", UNKNOWN)
        parts += [f"{threads} thread{'s' * (threads != 1)}", str(machine.get("cpu_capability"))]
    clocks = [machine.get(f"clocks_{when}") for when in _WHEN]
    parts += [f"clocks {when} {_clocks(c)}" for when, c in zip(_WHEN, clocks, strict=True) if c]
    return "Measured: " + ", ".join(parts) + f", {machine.get('date', 'date ?')}."


def _source(row: Mapping[str, Any]) -> str:
    data = row.get("data", UNKNOWN)
    return str(data["source"]) if isinstance(data, Mapping) else str(data)


_WHEN = ("before", "after")
_WORDS = {
    "mhz": "{:g} MHz",
    "load_1_min": "load {:g}",
    "sm_mhz": "SM {:g} MHz",
    "memory_mhz": "memory {:g} MHz",
    "temperature_c": "{:g} °C",
    "power_w": "{:g} W",
}


def _clocks(clocks: Mapping[str, Any]) -> str:
    told = [(name, value) for name, value in clocks.items() if value is not None]
    return "({})".format(", ".join(_WORDS.get(name, name + " {:g}").format(v) for name, v in told))


def training_table(group: TrainingGroup) -> Table:
    """Return scores and wall times of trainings; whether they are equivalent stands below."""
    head = ("recipe", "seeds", "accuracy", "precision", "recall", "F1", "test loss", "wall s")
    base = group.baseline
    rows = tuple(_training_row(training, base) for training in group.trainings)
    return Table(
        group.title, (*head, "time ratio", "skipped"), rows, tuple(_training_remarks(group))
    )


def _training_row(training: Training, base: Training | None) -> tuple[str, ...]:
    scores = ("test_accuracy", "precision", "recall", "f1")
    return (
        training.recipe,
        str(len(training.rows)),
        *(f"{training.mean(name):.2%}" for name in scores),
        f"{training.mean('test_loss'):.3f}",
        f"{training.mean('wall_s'):.1f}",
        UNKNOWN if base is None else f"{base.mean('wall_s') / training.mean('wall_s'):.2f}",
        f"{training.mean('skipped_steps'):g}",
    )


def _training_remarks(group: TrainingGroup) -> Iterable[str]:
    yield about(group.trainings[0].rows[0])
    yield "Wall time includes drawing and moving the images, not the evaluation."
    found, base = group.equivalences, group.baseline
    yield from map(str, found)
    judged = {one.recipe for one in found}
    others = [t.recipe for t in group.trainings if t.recipe not in judged and t is not base]
    if others and base is not None:
        yield (
            f"{', '.join(others)}: no two seeds shared with {base.recipe}, so no statement about "
            "equal accuracy."
        )
    for training in group.trainings:
        yield from _small_gradients(training)


def _small_gradients(training: Training) -> Iterable[str]:
    looks = [look for look in training.rows[0]["flushed_share"] if look["below"] is not None]
    if looks:
        shares = ", ".join(f"step {look['step']}: {100 * look['below']:.2g} %" for look in looks)
        yield f"{training.recipe}, share of weight gradients below 2^-24 and not 0: {shares}."


def gemm_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rates of matrix products against the device's peak."""
    body = tuple(
        (
            f"{row['m']} x {row['n']} x {row['k']}",
            row["type"],
            f"{row['tflops']:.4g}",
            number(row.get("peak_tflops"), ".4g"),
            number(row.get("share_of_peak"), ".0%"),
        )
        for row in rows
    )
    title = f"{rows[0]['machine']['name']}: matrix products"
    return Table(title, ("m x n x k", "type", "TFLOP/s", "peak", "of peak"), body, words=2)


def problem_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each row that did not end well."""
    return [
        f"{row['kind']} {row.get('recipe') or ''}: {row['status'].replace('_', ' ')}"
        + (f", {row['message']}" if row.get("message") else "")
        for row in rows
    ]


def _largest(entry: Entry) -> str:
    if entry.largest_batch is None:
        return UNKNOWN
    gain = entry.largest_batch_gain
    return f"{entry.largest_batch:,}" + (f" ({gain:.2f}x)" if gain is not None else "")
