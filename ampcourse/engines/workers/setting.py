"""What the scenes' programs share: pictures, a net, a run under an engine, the way back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ampcourse.distributed import Ranks, process_group
from ampcourse.engines.engine import Engine
from ampcourse.training.data import fashion_mnist
from ampcourse.training.loop import to_tensors
from ampcourse.training.models import small_cnn

#: What the line with a scene's result begins with; libraries print lines of their own.
MARK = "scene: "

#: Images in a step, of all processes together.
BATCH = 32

LEARNING_RATE = 2e-3

Batch = tuple[torch.Tensor, torch.Tensor]
Batches = list[Batch]


def play(act: Callable[[Ranks], dict[str, Any]], *, alone: bool = True) -> None:
    """Join the other processes, do this one's part, and print rank 0's result."""
    with process_group(timeout=60, alone=alone) as ranks:
        result = act(ranks)
        if ranks.reports:
            print(MARK + json.dumps(result), flush=True)


def result_in(output: str) -> dict[str, Any]:
    """Return the result that `play` printed; ValueError if there is none."""
    lines = [line for line in output.splitlines() if line.startswith(MARK)]
    if not lines:
        raise ValueError(f"no result in what the scene printed: {output[-300:]!r}")
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(MARK))
    return found


def net(width: int = 8) -> nn.Sequential:
    """Return the lessons' CNN with the same weights in every process."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return small_cnn(width)


def batches(steps: int) -> Batches:
    """Return the global batches of FashionMNIST's first images, for all processes together."""
    data = fashion_mnist(use="subset")
    count = steps * BATCH
    images, labels = to_tensors(data.train_images[:count], data.train_labels[:count], "cpu")
    return list(zip(images.split(BATCH), labels.split(BATCH), strict=True))


def part(
    ranks: Ranks, images: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return this process's images and labels of a global batch."""
    positions = ranks.part(torch.arange(len(images)))
    return images[positions], labels[positions]


def by_rank(ranks: Ranks, own: Any) -> list[Any]:
    """Return every process's value, in the order of ranks, in all of them."""
    if ranks.world_size == 1:
        return [own]
    import torch.distributed as dist

    found: list[Any] = [None] * ranks.world_size
    dist.all_gather_object(found, own)
    return found


def flat(weights: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return all weights in one row, in the order of the net."""
    return torch.cat([weight.flatten() for weight in weights.values()])


def ulps(a: torch.Tensor, b: torch.Tensor) -> int:
    """Return the largest distance of two FP32 tensors' elements, in FP32 numbers between them."""
    return int((_order(a) - _order(b)).abs().max())


def _order(x: torch.Tensor) -> torch.Tensor:
    bits = x.contiguous().view(torch.int32).long()
    return torch.where(bits < 0, -(bits + 2**31), bits)


def run(engine: Engine, data: Batches) -> dict[str, Any]:
    """Train on each batch once and return losses, whole weights, and bytes by rank."""
    held: dict[str, int] = {}
    losses = []
    with engine.active():
        for number, batch in enumerate(data):
            last = number == len(data) - 1
            look = (lambda: held.update(engine.bytes())) if last else None
            images, labels = part(engine.ranks, *batch)
            losses.append(engine.step(images, labels, look).item())
    kinds = by_rank(engine.ranks, held)
    return {
        "loss": engine.mean(losses),
        "weights": flat(engine.weights()),
        "bytes": {kind: [one[kind] for one in kinds] for kind in held},
    }
