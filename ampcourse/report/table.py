"""Tables of a report, as text for a terminal or as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ampcourse.benchmark.result import Result
from ampcourse.report.comparison import Entry, Group, Training, TrainingGroup
from ampcourse.report.published import Pair, above

UNKNOWN = "?"


@dataclass(frozen=True)
class Table:
    """A title, a head, rows of text, remarks below; the first `words` columns are no numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...] = ()
    words: int = 1

    def text(self) -> str:
        """Return the table with columns aligned: words left, numbers right."""
        lines = [self.head, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        body = [
            "  ".join(
                cell.ljust(width) if i < self.words else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        rule = "-" * max(map(len, body))
        wrapped = (_wrap(r) for r in self.remarks)
        return "\n".join([self.title, rule, body[0], rule, *body[1:], rule, *wrapped])

    def markdown(self) -> str:
        """Return the table as Markdown, numbers right."""
        numbers = len(self.head) - self.words
        marks = ("---",) * self.words + ("---:",) * numbers
        cells = ["| " + " | ".join(line) + " |" for line in (self.head, marks, *self.rows)]
        return "\n".join([f"### {self.title}", "", *cells, *(f"\n{r}" for r in self.remarks)])


# Addresses stay whole.
_WRAPPING = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}


def _wrap(remark: str) -> str:
    return textwrap.fill(remark, 100, **_WRAPPING)  # type: ignore[arg-type]


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
        _number(entry.rate),
        _number(entry.ratio, ".2f") + mark if entry.ratio is not None else "1",
        "" if not interval else f"{interval[0]:.2f}-{interval[1]:.2f}",
        _number(entry.limit),
        _number(entry.share, ".0%"),
        _number(entry.limit_ratio, ".2f") if entry.ratio is not None else "1",
        _number(row.get("peak_allocated"), ",.0f", 1e-6),
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


def _clocks(clocks: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {value:g}" for name, value in clocks.items() if value is not None)


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


def published_table(pairs: Sequence[Pair]) -> Table:
    """Return published rates and ratios beside the limits of the same device and layouts."""
    head = ("device", "runs", "batch", "images/s", "limit/s", "of limit")
    rows: list[tuple[str, ...]] = []
    for pair in pairs:
        for rate in (pair.baseline, pair.other):
            rows.append(
                (
                    rate.hardware,
                    rate.name,
                    str(rate.batch),
                    _number(rate.published),
                    _number(rate.limit),
                    f"{rate.share:.0%}",
                )
            )
        layouts = "" if not pair.equal_layouts_matter else f" ({pair.equal_layouts:.2f} both NHWC)"
        rows.append(("", "ratio", "", f"{pair.published:.2f}", f"{pair.limit:.2f}{layouts}", ""))
    remarks = [remark for pair in pairs for remark in pair.remarks]
    sources = "; ".join(dict.fromkeys(pair.source for pair in pairs))
    title = "Published: ResNet50 on ImageNet, 224 px, against the model"
    return Table(title, head, tuple(rows), (*remarks, f"Published by: {sources}."), words=2)


def other_table(results: Sequence[Result]) -> Table:
    """Return published and quoted comparisons that no limit can be computed for."""
    head = ("device", "task", "kind", "baseline", "mixed", "ratio")
    rows = tuple(
        (
            result.name,
            result.task,
            result.kind,
            f"{result.baseline_name} {result.baseline.value:g} {result.unit}",
            f"{result.amp.precision.upper()} {result.amp.value:g} {result.unit}",
            f"{result.speedup:.2f}",
        )
        for result in results
    )
    return Table(
        "Others, without a limit: image size or layout was not published",
        head,
        rows,
        ("?: not reported, our inference.",),
        words=5,
    )


def gemm_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rates of matrix products against the device's peak."""
    body = tuple(
        (
            f"{row['m']} x {row['n']} x {row['k']}",
            row["type"],
            f"{row['tflops']:.4g}",
            _number(row.get("peak_tflops"), ".4g"),
            _number(row.get("share_of_peak"), ".0%"),
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


def _number(value: float | None, form: str = "", factor: float = 1.0) -> str:
    """Return a number in a form, by default whole from 100 on; UNKNOWN for None."""
    if value is None:
        return UNKNOWN
    return format(value * factor, form or (",.0f" if value >= 100 else ".3g"))
