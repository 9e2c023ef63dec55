"""Scene checkpoint_2_to_1: `checkpoint.py FOLDER`, on two ranks first and then on one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import parse
from ampcourse.distributed import Ranks
from ampcourse.engines import checkpoint
from ampcourse.engines.engine import local
from ampcourse.engines.fsdp import Fsdp
from ampcourse.engines.workers import setting

SAVED_AT, STEPS = 3, 6


def act(ranks: Ranks) -> dict[str, Any]:
    """Train and save, or, where something was saved, load it and go on; return the losses."""
    folder = Path(sys.argv[1])
    recipe = parse("fp32")
    engine = Fsdp(recipe, setting.net(), setting.LEARNING_RATE, Machine(), ranks)
    data = setting.batches(STEPS)
    found: dict[str, Any] = {"saved_at": SAVED_AT, "world_size": ranks.world_size}
    saved = checkpoint.complete(folder)
    if not saved:
        found["loss_before"] = setting.run(engine, data[:SAVED_AT])["loss"]
        checkpoint.save(engine, folder, {"recipe": recipe.name})
        kept = whole(engine)
        if ranks.reports:
            torch.save(kept, folder / "whole.pt")
        [saved] = [checkpoint.complete(folder)]
        found["files"] = {
            path.name: path.stat().st_size
            for path in sorted(saved[-1].rglob("*"))
            if path.is_file()
        }
    else:
        checkpoint.load(engine, saved[-1], {"recipe": recipe.name})
        now, kept = whole(engine), torch.load(folder / "whole.pt")
        for kind in kept:
            same = [setting.ulps(a, b) for a, b in zip(now[kind], kept[kind], strict=True)]
            found[f"same_{kind}_loaded"] = max(same) == 0 and len(same) > 0
    found["loss"] = setting.run(engine, data[SAVED_AT:])["loss"]
    return found


def whole(engine: Fsdp) -> dict[str, list[torch.Tensor]]:
    """Return whole copies of weights and of the optimizer's state, in every process."""
    state = [
        value.full_tensor() if hasattr(value, "full_tensor") else local(value)
        for of_one in engine.optimizer.state.values()
        for value in of_one.values()
    ]
    return {
        "weights": list(engine.weights().values()),
        "optimizer": [tensor.clone().float().reshape(-1) for tensor in state],
    }


if __name__ == "__main__":
    setting.play(act)
