"""Train a network under an engine for some steps, from a checkpoint if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.pictures import Pictures
from ampcourse.benchmark.recipes import Recipe
from ampcourse.distributed import Ranks
from ampcourse.engines import checkpoint
from ampcourse.engines.engine import Engine

#: "small" is the lessons' CNN of two convolutions; the others are the benchmark's.
MODELS = ("small", "tiny", "resnet10", "resnet18", "resnet50")


def build_model(name: str, data: Pictures, seed: int = 0) -> nn.Module:
    """Return a network for pictures, its weights from `seed`: the same in every process.

    Raises ValueError for an unknown name, and for "small" with images it was not made for.
    """
    from ampcourse.benchmark.models import build
    from ampcourse.training.models import small_cnn

    if name not in MODELS:
        raise ValueError(f"model {name!r} is unknown; choose from {', '.join(MODELS)}")
    if name != "small":
        return build(name, data.channels, data.classes, "3x3" if data.size < 64 else "stock", seed)
    if (data.channels, data.size, data.classes) != (1, 28, 10):
        raise ValueError(f"the model small is for FashionMNIST at 28 px, not for {data!r}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return small_cnn()


def make_engine(
    name: str,
    recipe: Recipe,
    model: nn.Module,
    machine: Machine,
    ranks: Ranks,
    *,
    batch: int,
    learning_rate: float = 1e-3,
    stage: int = 2,
) -> Engine:
    """Return the engine of a name with AdamW, for a global batch; `stage` is DeepSpeed's.

    `recipe` is one that recipes.recipe_for has let pass. "fsdp" and "deepspeed" need a process
    group. Raises ValueError for a batch that cannot be cut equally and for an unknown name, and
    ModuleNotFoundError where DeepSpeed is missing.
    """
    share = ranks.share(batch)
    if name == "ddp":
        from ampcourse.engines.ddp import Ddp

        return Ddp(recipe, model, learning_rate, machine, ranks)
    if name == "fsdp":
        from ampcourse.engines.fsdp import Fsdp

        return Fsdp(recipe, model, learning_rate, machine, ranks)
    if name == "deepspeed":
        from ampcourse.engines.zero import Zero

        return Zero(recipe, model, learning_rate, machine, ranks, share=share, stage=stage)
    raise ValueError(f"engine {name!r} is unknown; choose ddp, fsdp or deepspeed")


def batches(
    images: int, batch: int, seed: int, first: int, last: int
) -> Iterator[tuple[int, torch.Tensor]]:
    """Yield the number of each step from `first` up to `last` and its images' positions.

    Each epoch is shuffled anew, a last short batch dropped. What a step sees depends on its number
    and the seed alone, so that a training that starts again goes on with the images it would have
    seen. Raises ValueError for a batch that is not between 1 and `images`.
    """
    if not 1 <= batch <= images:
        raise ValueError(f"batch={batch} must be between 1 and {images}, the images there are")
    per_epoch = images // batch
    order, of_epoch = torch.empty(0), -1
    for step in range(first, last):
        epoch, place = divmod(step, per_epoch)
        if epoch != of_epoch:
            generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
            order, of_epoch = torch.randperm(images, generator=generator), epoch
        yield step, order[place * batch : (place + 1) * batch]


def train(
    engine: Engine,
    data: Pictures,
    *,
    batch: int,
    steps: int,
    seed: int = 0,
    folder: Path | None = None,
    every: int = 0,
    about: dict[str, Any] | None = None,
    say: Callable[[str], object] = lambda line: None,
    before: Callable[[int], object] = lambda step: None,
) -> dict[str, Any]:
    """Train until `steps` steps are taken in all and return what there is to know.

    `batch` is the global batch. With a `folder`, training goes on from its newest checkpoint and
    writes one after every `every` steps (0: none) and at the end. `about` is what must not differ
    from the checkpoint's. `before` is called with the number of each step before it.

    Returned: `first_step`, `losses` (of this attempt, means over the global batch), `skipped`,
    `scale`, and `bytes` of this process's weights, gradients and optimizer, measured in the last
    step between the backward pass and the update.
    """
    about = {"engine": engine.name, "recipe": engine.recipe.name, "seed": seed, **(about or {})}
    first = _resume(engine, folder, about, say)
    engine.module.train()
    losses: list[torch.Tensor] = []
    held: dict[str, int] = {}
    machine, ranks = engine.machine, engine.ranks
    with engine.active():
        for number, positions in batches(len(data.train_images), batch, seed, first, steps):
            before(number)
            chosen = ranks.part(positions)
            images = data.inputs(machine.to(data.train_images[chosen]))
            labels = machine.to(data.train_labels[chosen])
            last = number == steps - 1
            losses.append(
                engine.step(images, labels, (lambda: held.update(engine.bytes())) if last else None)
            )
            if folder is not None and (last or (every and (number + 1) % every == 0)):
                checkpoint.save(engine, folder, about)
            if (number + 1) % 20 == 0 or last:
                [loss] = engine.mean([losses[-1].item()])
                say(f"step {number + 1} of {steps}: loss {loss:.4f}{_scale(engine)}")
    return {
        "first_step": first,
        "losses": engine.mean([loss.item() for loss in losses]),
        "skipped": engine.skipped,
        "scale": engine.scale,
        "bytes": held,
    }


def accuracy(engine: Engine, data: Pictures, batch: int = 500) -> float:
    """Return the share of test images that are named right; every process takes its part.

    Images that cannot be shared equally are left out, since all must call the model equally often.
    """
    size = engine.ranks.world_size
    usable = len(data.test_images) // size * size
    positions = engine.ranks.part(torch.arange(usable))
    right = 0.0
    engine.module.eval()
    with torch.no_grad(), engine.active():
        for chosen in positions.split(batch):
            images = data.inputs(engine.machine.to(data.test_images[chosen]))
            guesses = engine.forward(images).argmax(1).cpu()
            right += float(guesses.eq(data.test_labels[chosen]).sum())
    return engine.mean([right / len(positions)])[0]


def _resume(
    engine: Engine, folder: Path | None, about: dict[str, Any], say: Callable[[str], object]
) -> int:
    found = checkpoint.complete(folder) if folder is not None else []
    if not found:
        return 0
    step = checkpoint.load(engine, found[-1], about)
    say(f"going on from {found[-1].name}, {step} steps taken")
    return step


def _scale(engine: Engine) -> str:
    scale = engine.scale
    return "" if scale is None else f", loss scale {scale:g}, {engine.skipped} steps skipped"
