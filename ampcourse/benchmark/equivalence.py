"""Whether a recipe trains to the same accuracy as FP32, within a margin that was set beforehand.

Runs of the same seed start from the same weights and see the same images in the same order, so
their accuracies are compared in pairs. "No significant difference" would be easy to reach with few
runs; equivalence has to be shown: two one-sided tests at 5 % hold when the 90 % interval of the
mean difference lies within the margin (Schuirmann, J. Pharmacokinet. Biopharm. 15(6), 1987).

To make the course's record: `ampcourse benchmark --preset three-seeds`
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

#: The margin of the course's record, set before its runs: 2 percentage points of accuracy.
MARGIN = 0.02


@dataclass(frozen=True)
class Equivalence:
    """Accuracies of two recipes by seed, and whether their difference is within the margin.

    >>> found = Equivalence("fp32", "amp-bf16", {0: (0.80, 0.81), 1: (0.79, 0.79), 2: (0.81, 0.8)})
    >>> round(found.difference, 4), found.holds
    (0.0, True)
    """

    baseline: str
    recipe: str
    accuracies: Mapping[int, tuple[float, float]]
    margin: float = MARGIN

    def __post_init__(self) -> None:
        if len(self.accuracies) < 2:
            raise ValueError(
                f"{len(self.accuracies)} seeds that both {self.baseline} and {self.recipe} ran "
                "give no interval; run 2 or more, better 3"
            )
        if not self.margin > 0:
            raise ValueError(f"margin={self.margin} allows no difference; give one above 0")

    @property
    def differences(self) -> list[float]:
        """The recipe's accuracy minus the baseline's, by seed."""
        return [other - base for base, other in self.accuracies.values()]

    @property
    def difference(self) -> float:
        """The mean of the differences."""
        return mean(self.differences)

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of the mean difference, by Student's t."""
        from scipy.stats import t

        count = len(self.differences)
        half = float(t.ppf(0.95, count - 1)) * stdev(self.differences) / math.sqrt(count)
        return self.difference - half, self.difference + half

    @property
    def holds(self) -> bool:
        """Whether the interval lies within the margin on both sides."""
        low, high = self.interval
        return -self.margin < low and high < self.margin

    def __str__(self) -> str:
        low, high = (100 * bound for bound in self.interval)
        words = "equivalent" if self.holds else "not shown to be equivalent"
        return (
            f"{self.recipe} minus {self.baseline}: {100 * self.difference:+.2f} points, 90 % "
            f"interval {low:+.2f} to {high:+.2f} over {len(self.accuracies)} seeds: {words} within "
            f"±{100 * self.margin:g} points"
        )


def equivalence(
    rows: Iterable[Mapping[str, Any]],
    recipe: str,
    baseline: str = "fp32",
    margin: float = MARGIN,
) -> Equivalence:
    """Return the comparison of two recipes in "training" rows, by the seeds that both ended.

    Raises ValueError for less than two such seeds, and for rows of another model, data, batch or
    number of epochs than the first.
    """
    runs = [
        row
        for row in rows
        if row["kind"] == "training"
        and row["status"] == "ok"
        and row["recipe"] in (recipe, baseline)
        and not row.get("stopped_early")
    ]
    for name in ("model", "stem", "image_size", "data", "batch"):
        values = {str(row.get(name)) for row in runs}
        if len(values) > 1:
            raise ValueError(f"runs with {name} {' and '.join(sorted(values))} are no pairs")
    lengths = {len(row["epochs"]) for row in runs}
    if len(lengths) > 1:
        raise ValueError(f"runs of {' and '.join(map(str, sorted(lengths)))} epochs are no pairs")
    found = {
        name: {row["seed"]: row["final"]["test_accuracy"] for row in runs if row["recipe"] == name}
        for name in (baseline, recipe)
    }
    seeds = sorted(found[baseline].keys() & found[recipe].keys())
    pairs = {seed: (found[baseline][seed], found[recipe][seed]) for seed in seeds}
    return Equivalence(baseline, recipe, pairs, margin)
