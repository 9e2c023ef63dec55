"""Result rows brought together: what may be compared, with ratio, limit and largest batch.

Only rows of one device, model, image size, batch and number of processes stand in one group. A
ratio of which one side is host-bound says how fast Python issues work, and is no speed-up of
mixed precision.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any

from ampcourse.benchmark.equivalence import MARGIN, Equivalence, equivalence
from ampcourse.benchmark.recipes import parse
from ampcourse.report.limits import row_limit

Row = Mapping[str, Any]

# What must be the same for two rows to be compared, besides the machine.
_NETWORK = ("model", "stem", "image_size", "channels", "classes", "world_size")


@dataclass(frozen=True)
class Entry:
    """A measured rate in images/s with its limit, and what is known beside it."""

    row: Row
    baseline: Row | None
    limit: float | None
    baseline_limit: float | None
    largest_batch: int | None
    baseline_batch: int | None = None

    @property
    def recipe(self) -> str:
        """The recipe in full."""
        return str(self.row["recipe"])

    @property
    def rate(self) -> float:
        """Images per second."""
        return float(self.row["images_per_s"])

    @property
    def share(self) -> float | None:
        """The share of its limit."""
        return None if self.limit is None else self.rate / self.limit

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the baseline it was, of turns taken; None for the baseline."""
        return None if self.row is self.baseline else self.row.get("ratio")

    @property
    def limit_ratio(self) -> float | None:
        """The same ratio of the limits."""
        if self.ratio is None or self.limit is None or self.baseline_limit is None:
            return None
        return self.limit / self.baseline_limit

    @property
    def largest_batch_gain(self) -> float | None:
        """The largest batch over the baseline's; None for the baseline and where one is unknown."""
        if self.row is self.baseline or not (self.largest_batch and self.baseline_batch):
            return None
        return self.largest_batch / self.baseline_batch

    @property
    def host_bound(self) -> bool:
        """Whether the ratio says nothing of the arithmetic: this or the baseline was host-bound."""
        rows = (self.row, self.baseline or {})
        return any(bool(row.get("host_bound")) for row in rows)


@dataclass(frozen=True)
class Group:
    """Rates that may be compared, and a title that says of what."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Training:
    """All trainings of one recipe in a group, one a seed."""

    recipe: str
    rows: tuple[Row, ...]

    def mean(self, name: str) -> float:
        """Return the mean over the seeds of a final score, or of the row's own field."""
        return mean(row["final"][name] if name in row["final"] else row[name] for row in self.rows)

    @property
    def seeds(self) -> set[int]:
        """The seeds it was trained from."""
        return {row["seed"] for row in self.rows}


@dataclass(frozen=True)
class TrainingGroup:
    """Trainings of the same model, data, batch and epochs, compared with FP32 if it is there."""

    title: str
    trainings: tuple[Training, ...]
    margin: float = MARGIN

    @property
    def baseline(self) -> Training | None:
        """The first FP32 recipe, with which all are compared; None if there is none."""
        return next((t for t in self.trainings if parse(t.recipe).base == "fp32"), None)

    @property
    def equivalences(self) -> list[Equivalence]:
        """The comparison of accuracies of each recipe that shares two or more seeds with it."""
        base = self.baseline
        if base is None:
            return []
        others = (training for training in self.trainings if training is not base)
        return [
            equivalence((*base.rows, *other.rows), other.recipe, base.recipe, self.margin)
            for other in others
            if len(base.seeds & other.seeds) > 1
        ]


def rates(rows: Iterable[Row]) -> list[Group]:
    """Return the groups of "throughput" rows that ended well, in the order of their first row.

    A recipe that comes a second time begins another group: its ratios are to another baseline.
    """
    rows = list(rows)
    largest = {_key(row, *_NETWORK, "recipe"): row["batch"] for row in _ok(rows, "largest_batch")}
    found = []
    for same in _grouped(_ok(rows, "throughput"), lambda row: _key(row, *_NETWORK, "batch")):
        for by_recipe in _turns(same):
            limits = {recipe: row_limit(row) for recipe, row in by_recipe.items()}
            entries = []
            for recipe, row in by_recipe.items():
                base = str(row.get("baseline"))
                fits = [largest.get((*_key(row, *_NETWORK), name)) for name in (recipe, base)]
                entries.append(
                    Entry(row, by_recipe.get(base), limits[recipe], limits.get(base), *fits)
                )
            found.append(Group(_title(same[0]), tuple(entries)))
    return found


def trainings(rows: Iterable[Row], margin: float = MARGIN) -> list[TrainingGroup]:
    """Return the groups of "training" rows that ended well, each recipe's seeds together."""
    members = [row for row in _ok(rows, "training") if row["epochs"]]
    found = []
    for same in _grouped(
        members, lambda row: (*_key(row, *_NETWORK, "batch", "data"), len(row["epochs"]))
    ):
        by_recipe = _grouped(same, lambda row: (row["recipe"],))
        parts = tuple(Training(runs[0]["recipe"], tuple(runs)) for runs in by_recipe)
        epochs = len(same[0]["epochs"])
        title = f"{_title(same[0])}, {epochs} epoch{'s' * (epochs > 1)}"
        found.append(TrainingGroup(title, parts, margin))
    return found


def problems(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of what did not end well."""
    return [row for row in rows if row["status"] != "ok"]


def _ok(rows: Iterable[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["kind"] == kind and row["status"] == "ok"]


def _key(row: Row, *names: str) -> tuple[str, ...]:
    return (row["machine"]["name"], *(str(row.get(name)) for name in names))


def _grouped(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> list[list[Row]]:
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return list(found.values())


def _turns(rows: Iterable[Row]) -> list[dict[str, Row]]:
    """Return rows by recipe, in as many parts as a recipe occurs."""
    found: list[dict[str, Row]] = []
    for row in rows:
        if not found or row["recipe"] in found[-1]:
            found.append({})
        found[-1][row["recipe"]] = row
    return found


def _title(row: Row) -> str:
    world = row.get("world_size") or 1
    processes = f", {world} processes" if world > 1 else ""
    return (
        f"{row['machine']['name']}: {row['model']}, {row['stem']} stem, {row['image_size']} px, "
        f"batch {row['batch']}{processes}"
    )
