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
    rate = setting.LEARNING_RATE
    ddp = setting.run(Ddp(parse("fp32"), setting.net(), rate, Machine(), ranks), data)
    runs = {"ddp": ddp}
    for name, recipe, changes in _ways():
        runs[name] = setting.run(_engine(ranks, recipe, int(name[4]), changes), data)
    exact = [f"zero{stage}" for stage in (1, 2, 3)]
    return {
        "parameters": ddp["weights"].numel(),
        "shapes": [list(p.shape) for p in setting.net().parameters()],
        "loss": {name: run["loss"] for name, run in runs.items()},
        "largest_difference_ulps": {
            name: setting.ulps(runs[name]["weights"], ddp["weights"]) for name in exact
        },
        "bytes": {name: run["bytes"] for name, run in runs.items()},
        "gradients_between_micro_steps": {
            f"zero{stage} bf16": _accumulated(ranks, stage, data) for stage in (1, 2, 3)
        },
        "config": configuration(parse("amp-fp16"), 2, ranks.share(setting.BATCH), rate),
    }


def _engine(ranks: Ranks, recipe: str, stage: int, changes: dict[str, Any]) -> Zero:
    return Zero(
        parse(recipe),
        setting.net(),
        setting.LEARNING_RATE,
        Machine(),
        ranks,
        share=ranks.share(setting.BATCH),
        stage=stage,
        changes=changes,
    )


def _accumulated(ranks: Ranks, stage: int, data: setting.Batches) -> list[int]:
    """Return the bytes of gradients that each rank keeps between two micro-steps of a step."""
    engine = _engine(ranks, "amp-bf16", stage, {"gradient_accumulation_steps": 2})
    for batch in data[:2]:
        engine.step(*setting.part(ranks, *batch))
    held: list[int] = []
    images, labels = setting.part(ranks, *data[2])
    engine.step(images, labels, lambda: held.append(engine.bytes()["gradients"]))
    return setting.by_rank(ranks, held[0])


def _ways() -> list[tuple[str, str, dict[str, Any]]]:
    found: list[tuple[str, str, dict[str, Any]]] = []
    found += [(f"zero{stage}", "fp32", {}) for stage in (1, 2, 3)]
    found += [(f"zero{stage} bf16", "amp-bf16", {}) for stage in (1, 2, 3)]
    return [*found, ("zero2, gradient_clipping left away", "fp32", {"gradient_clipping": None})]


if __name__ == "__main__":
    setting.play(act)
