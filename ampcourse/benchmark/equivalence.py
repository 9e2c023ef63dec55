"""Whether a recipe trains to the same accuracy as FP32, within a margin that was set beforehand.

Runs of the same seed start from the same weights and see the same images in the same order, so
their accuracies are compared in pairs. "No significant difference" would be easy to reach with few
runs; equivalence has to be shown: two one-sided tests at 5 % hold when the 90 % interval of the
mean difference lies within the margin (Schuirmann, J. Pharmacokinet. Biopharm. 15(6), 1987).

To make the course's record: `python -m ampcourse.benchmark.equivalence --out FILE`
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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


def record(options: argparse.Namespace) -> None:
    """Train each recipe from each seed, seeds in turn, and add each row to a file as it ends."""
    from tqdm import tqdm

    from ampcourse.benchmark import models
    from ampcourse.benchmark.machine import open_machine
    from ampcourse.benchmark.pictures import pictures
    from ampcourse.benchmark.recipes import parse
    from ampcourse.benchmark.rows import append
    from ampcourse.benchmark.steps import prepare
    from ampcourse.benchmark.training_run import train

    machine = open_machine(options.device)
    data = pictures("fashion-mnist", size=options.size, use=options.data)
    plan = {
        "kind": "training",
        "model": options.model,
        "stem": options.stem,
        "image_size": data.size,
        "channels": data.channels,
        "classes": data.classes,
        "batch": options.batch,
        "world_size": 1,
        "data": data.source,
        "preset": "three seeds",
        "learning_rate": options.learning_rate,
    }
    steps = options.epochs * (len(data.train_images) // options.batch)
    for seed in options.seeds:
        for name in options.recipes:
            recipe = parse(name)
            model = models.build(options.model, data.channels, data.classes, options.stem, seed)
            step = prepare(recipe, model, models.sgd(options.learning_rate), machine)
            before = machine.clocks()
            with step.active(), tqdm(total=steps, desc=f"{recipe}, seed {seed}") as bar:
                found = train(
                    step,
                    data,
                    machine,
                    batch=options.batch,
                    epochs=options.epochs,
                    seed=seed,
                    progress=bar.update,
                )
                described = machine.describe()
            described |= {"clocks_before": before, "clocks_after": machine.clocks()}
            of_recipe = {
                "recipe": recipe.name,
                "layout": recipe.layout,
                "compiled": recipe.compiled,
                "checkpointing": recipe.checkpointing,
                "seed": seed,
            }
            append(options.out, plan | of_recipe | found | {"machine": described})


def main(argv: Sequence[str] | None = None) -> None:
    """Make the record of several seeds."""
    parser = argparse.ArgumentParser(prog="python -m ampcourse.benchmark.equivalence")
    parser.add_argument("--out", type=Path, required=True, help="file of rows to add to")
    parser.add_argument("--recipes", nargs="+", default=["fp32", "amp-bf16"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--size", type=int, default=28, help="side of the images in pixels")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--stem", default="stock")
    parser.add_argument("--data", default="auto", help="full, subset or auto")
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--device", default="cpu")
    record(parser.parse_args(argv))


if __name__ == "__main__":
    main()
