"""Lesson 14's trainings of the small net, recorded, for slides that must not wait for training.

`python -m ampcourse.training.capstone_runs` trains once more, some minutes, and rewrites the
record; the lesson itself trains live.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "capstone_runs.json"
COMMAND = "python -m ampcourse.training.capstone_runs"
#: Two epochs for a step that is looked at, three for precisions that are compared.
STEP_EPOCHS, SEED_EPOCHS = 2, 3
SEEDS = range(3)


def load() -> dict[str, Any]:
    """Return the record: what trained on what, `steps` by name, `seeds` by precision and seed.

    A step has its losses and its accuracy at the end; a seed its losses, the scale after each step
    (1 where nothing is scaled) and its four scores.
    """
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


def trained(step: str = "train_step", **options: Any) -> dict[str, Any]:
    """Train the small net with a step of `training.reference`, and return its history and scores.

    `options` are those of `capstone.start`, `epochs` among them.
    """
    from ampcourse.training import reference
    from ampcourse.training.capstone import start

    run = start("small", **options)
    reference.fit(run, options["epochs"] * len(run.batches), getattr(reference, step))
    return {
        "losses": [round(entry["loss"], 5) for entry in run.history],
        "scales": [entry["scale"] for entry in run.history],
        "scores": {name: round(score, 5) for name, score in reference.evaluate(run).items()},
    }


def main() -> None:
    """Train and write the record."""
    import torch

    from ampcourse.training.capstone import PRECISIONS
    from ampcourse.training.hardware import this_cpu

    torch.set_num_threads(1)  # as the lesson has it
    steps = {name: trained(name, epochs=STEP_EPOCHS) for name in ("half_repaired", "train_step")}
    seeds: Mapping[str, Any] = {
        precision: [trained(precision=precision, epochs=SEED_EPOCHS, seed=seed) for seed in SEEDS]
        for precision in PRECISIONS
    }
    about = {
        "command": COMMAND,
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": f"{this_cpu().name}, 1 thread, torch {torch.__version__}",
    }
    text = json.dumps(about | {"steps": steps, "seeds": seeds})
    FILE.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
