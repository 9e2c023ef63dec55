"""Scene deepspeed: ZeRO 1, 2 and 3 train as DDP does; bytes by rank in BF16."""

from __future__ import annotations

from typing import Any

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import parse
from ampcourse.distributed import Ranks
from ampcourse.engines.ddp import Ddp
from ampcourse.engines.workers import setting
from ampcourse.engines.zero import Zero, configuration

STEPS = 6


def act(ranks: Ranks) -> dict[str, Any]:
    """Train the same net with DDP and each stage in FP32, and each stage in BF16."""
    data = setting.batches(STEPS)
    machine, rate = Machine(), setting.LEARNING_RATE
    ddp = setting.run(Ddp(parse("fp32"), setting.net(), rate, machine, ranks), data)
    runs = {"ddp": ddp}
    for name, recipe, changes in _ways():
        engine = Zero(
            parse(recipe),
            setting.net(),
            rate,
            machine,
            ranks,
            share=ranks.share(setting.BATCH),
            stage=int(name[4]),
            changes=changes,
        )
        runs[name] = setting.run(engine, data)
    exact = [f"zero{stage}" for stage in (1, 2, 3)]
    return {
        "parameters": ddp["weights"].numel(),
        "shapes": [list(p.shape) for p in setting.net().parameters()],
        "loss": {name: run["loss"] for name, run in runs.items()},
        "largest_difference_ulps": {
            name: setting.ulps(runs[name]["weights"], ddp["weights"]) for name in exact
        },
        "bytes": {name: run["bytes"] for name, run in runs.items()},
        "config": configuration(parse("amp-fp16"), 2, ranks.share(setting.BATCH), rate),
    }


def _ways() -> list[tuple[str, str, dict[str, Any]]]:
    found: list[tuple[str, str, dict[str, Any]]] = []
    found += [(f"zero{stage}", "fp32", {}) for stage in (1, 2, 3)]
    found += [(f"zero{stage} bf16", "amp-bf16", {}) for stage in (1, 2, 3)]
    return [*found, ("zero2, gradient_clipping left away", "fp32", {"gradient_clipping": None})]


if __name__ == "__main__":
    setting.play(act)
