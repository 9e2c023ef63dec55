"""Scene fsdp2: FSDP2 trains as DDP does, and DDP as one process; bytes by rank."""

from __future__ import annotations

from typing import Any

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import parse
from ampcourse.distributed import SINGLE, Ranks
from ampcourse.engines.ddp import Ddp
from ampcourse.engines.engine import Engine
from ampcourse.engines.fsdp import Fsdp
from ampcourse.engines.workers import setting

STEPS = 6


def act(ranks: Ranks) -> dict[str, Any]:
    """Train the same net in five ways and compare; see scenes.scene."""
    data = setting.batches(STEPS)
    runs = {
        "one process": setting.run(_engine(Ddp, "fp32", SINGLE), data),
        "ddp": setting.run(_engine(Ddp, "fp32", ranks), data),
        "fsdp2": setting.run(_engine(Fsdp, "fp32", ranks), data),
        "ddp bf16": setting.run(_engine(Ddp, "amp-bf16", ranks), data),
        "fsdp2 bf16": setting.run(_engine(Fsdp, "amp-bf16", ranks), data),
    }
    ddp = runs["ddp"]["weights"]
    return {
        "parameters": ddp.numel(),
        "shapes": [list(p.shape) for p in setting.net().parameters()],
        "loss": {name: run["loss"] for name, run in runs.items()},
        "largest_difference_ulps": {
            name: setting.ulps(runs[name]["weights"], ddp) for name in ("one process", "fsdp2")
        },
        "largest_difference": {
            name: float((run["weights"] - ddp).abs().max())
            for name, run in runs.items()
            if name != "ddp"
        },
        "bytes": {name: run["bytes"] for name, run in runs.items() if name != "one process"},
    }


def _engine(kind: Any, recipe: str, ranks: Ranks) -> Engine:
    engine: Engine = kind(parse(recipe), setting.net(), setting.LEARNING_RATE, Machine(), ranks)
    return engine


if __name__ == "__main__":
    setting.play(act)
