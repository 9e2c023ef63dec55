"""Loss curves of the small transformer under each recipe: trained here, or recorded.

``python -m ampcourse.low_precision.curves --output FILE`` makes the record again. It writes after
each training and goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from ampcourse.low_precision.linear import convert
from ampcourse.low_precision.recipe import RECIPES, Recipe, get_recipe
from ampcourse.low_precision.transformer import SmallTransformer
from ampcourse.training.data import fashion_mnist
from ampcourse.training.hardware import cpu_name

RECORD = Path(__file__).parent / "records" / "curves.json"
COMMAND = "python -m ampcourse.low_precision.curves"
#: What a training is made of, beside recipe, steps and seed; part of the record.
SETTINGS = {
    "model": "SmallTransformer(width=32, depth=1, heads=4), every linear layer converted",
    "data": "FashionMNIST, the shipped subset: 2,000 + 1,000 images",
    "batch": 32,
    "optimizer": "AdamW",
    "lr": 0.003,
}


def train(recipe: str | Recipe, steps: int = 60, seed: int = 0) -> list[float]:
    """Return the loss of each step of training the small transformer under a recipe.

    The same recipe, steps and seed give the same losses on the same machine; the seed decides
    the initial weights, the batches and stochastic rounding, and torch's own generator is left
    as it was. Raises ValueError for an unknown recipe or no steps.
    """
    return Training(recipe, seed).run(steps)


class Training:
    """A model, its data and its optimizer, step by step.

    ``losses`` has what was trained so far, also after an interruption.
    """

    def __init__(self, recipe: str | Recipe, seed: int = 0) -> None:
        self.recipe = get_recipe(recipe)
        self.losses: list[float] = []
        self._data = fashion_mnist(use="subset")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = convert(SmallTransformer(width=32, depth=1, heads=4), self.recipe)
            self._rounding_state = torch.get_rng_state()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=SETTINGS["lr"])
        self._order = torch.Generator().manual_seed(seed)
        self._images = _standardised(self._data.train_images)
        self._labels = torch.from_numpy(self._data.train_labels.astype("int64"))

    def run(self, steps: int) -> list[float]:
        """Train for some steps more and return all losses so far."""
        if steps < 1:
            raise ValueError(f"steps = {steps} is no training; give at least 1")
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._rounding_state)
            for _ in range(steps):
                self.losses.append(self._step())
            self._rounding_state = torch.get_rng_state()
        return list(self.losses)

    def _step(self) -> float:
        batch = torch.randint(len(self._images), (SETTINGS["batch"],), generator=self._order)
        loss = functional.cross_entropy(self.model(self._images[batch]), self._labels[batch])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def test_accuracy(self) -> float:
        """Return the share of the 1,000 test images that the model names rightly."""
        self.model.eval()
        with torch.no_grad():
            named = self.model(_standardised(self._data.test_images)).argmax(1)
        self.model.train()
        right = named == torch.from_numpy(self._data.test_labels.astype("int64"))
        return right.float().mean().item()


def _standardised(images: Any) -> torch.Tensor:
    """Return images as FP32 with mean 0 and deviation 1, about (Zalando's training images)."""
    return (torch.from_numpy(images.astype("float32")) / 255 - 0.286) / 0.353


def recorded() -> dict[str, Any]:
    """Return the recorded trainings with what made them: plain data.

    Keys: "command", "date", "hardware", "threads", "versions", "settings", "steps", and
    "curves", which has for each recipe's name a list of trainings, one for each seed, with "seed",
    "losses" (one a step), "test_accuracy" and "seconds" of processor time.
    """
    return json.loads(RECORD.read_text("utf-8"))


def record(path: Path, recipes: Sequence[str], steps: int, seeds: int) -> dict[str, Any]:
    """Train each recipe with each seed that the file lacks, writing after each; return it all.

    Raises ValueError if the file holds trainings of other settings.
    """
    head = _head(steps)
    content = json.loads(path.read_text("utf-8")) if path.exists() else {**head, "curves": {}}
    for key in ("settings", "steps", "versions", "hardware"):
        if content[key] != head[key]:
            raise ValueError(
                f"{path} holds trainings with {key} = {content[key]!r}, not {head[key]!r}; "
                "curves of one file must be comparable: give another --output"
            )
    for name, seed in _missing(content["curves"], recipes, seeds):
        row = _measured(name, steps, seed)
        content["curves"].setdefault(name, []).append(row)
        _write(path, content)
        print(f"{name}, seed {seed}: {row['test_accuracy']:.3f}, {row['seconds']} s", flush=True)
    return content


def _missing(curves: dict[str, Any], recipes: Sequence[str], seeds: int) -> Iterator[Any]:
    for seed in range(seeds):
        for name in recipes:
            if seed not in [row["seed"] for row in curves.get(name, [])]:
                yield name, seed


def _measured(recipe: str, steps: int, seed: int) -> dict[str, Any]:
    training = Training(recipe, seed)
    start = time.process_time()
    losses = [round(loss, 4) for loss in training.run(steps)]
    seconds = round(time.process_time() - start, 1)
    accuracy = round(training.test_accuracy(), 3)
    return {"seed": seed, "test_accuracy": accuracy, "seconds": seconds, "losses": losses}


def _head(steps: int) -> dict[str, Any]:
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    return {
        "command": f"{COMMAND} --steps {steps}",
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": cpu_name(),
        "threads": torch.get_num_threads(),
        "versions": versions,
        "settings": SETTINGS,
        "steps": steps,
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file at once, so that an interruption leaves the old one or the new."""
    fresh = path.with_suffix(".part")
    fresh.write_text(json.dumps(content, allow_nan=True).replace('{"seed"', '\n{"seed"') + "\n")
    os.replace(fresh, path)


def main() -> None:
    """Make or complete a record of curves."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("curves.json"))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), choices=list(RECIPES))
    chosen = parser.parse_args()
    torch.set_num_threads(1)  # the order of a sum depends on the number of threads
    try:
        record(chosen.output, chosen.recipes, chosen.steps, chosen.seeds)
    except KeyboardInterrupt:
        print(f"Interrupted; {chosen.output} has what was finished. The same command goes on.")


if __name__ == "__main__":
    main()
