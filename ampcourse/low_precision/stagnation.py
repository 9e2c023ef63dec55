"""Small updates of BF16 weights: lost by rounding to nearest, kept in FP32 or by chance.

BF16 has 8 significant bits, so an update below half an ulp, about 1/512 to 1/256 of the
weight, is rounded away, each time anew. Stochastic rounding keeps it on average, FP32 master
weights keep it exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional

from ampcourse.quantize import quantize
from ampcourse.training.data import fashion_mnist

#: How a weight takes an update: rounded to nearest, stochastically, or kept in FP32 beside it.
WAYS = ("nearest", "stochastic", "master")


def add_repeatedly(
    start: float, step: float, count: int, way: str = "nearest", seed: int = 0
) -> list[float]:
    """Return a BF16 weight before and after each of ``count`` additions of a step.

    With "nearest" and "stochastic" the sum is made in FP32 and rounded to BF16 each time. With
    "master" an FP32 weight takes the updates, and its BF16 copy is what is returned.
    Raises ValueError for an unknown way.

    >>> add_repeatedly(200.0, 1.0, 100)[-1], add_repeatedly(200.0, 1.0, 100, "master")[-1]
    (256.0, 300.0)
    """
    generator = torch.Generator().manual_seed(seed)
    kept = quantize(torch.tensor(start), "bf16")
    weights = [kept.item()]
    for _ in range(count):
        kept = updated(kept, torch.tensor(step), way, generator)
        weights.append(quantize(kept, "bf16").item())
    return weights


def updated(
    kept: torch.Tensor, change: torch.Tensor, way: str, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return weights after an update, as this way keeps them: BF16 values, or FP32 masters."""
    if way == "master":
        return kept + change
    if way == "nearest":
        return quantize(kept + change, "bf16")
    if way == "stochastic":
        return quantize(kept + change, "bf16", "stochastic", generator=generator)
    raise ValueError(f"way = {way!r} is unknown; it is one of {', '.join(WAYS)}")


class Bf16Training(NamedTuple):
    """Losses of each step, and the share of non-zero updates that changed no weight there."""

    losses: list[float]
    lost: list[float]


def train_bf16(way: str, steps: int = 200, lr: float = 0.002, seed: int = 0) -> Bf16Training:
    """Train a net of two layers on FashionMNIST by SGD, its weights held in BF16.

    Forward and backward use the BF16 weights and are calculated in FP32, so that the
    updates are all that differs. Raises ValueError for an unknown way.
    """
    generator = torch.Generator().manual_seed(seed)
    images, labels = _data()
    kept = [torch.randn(n, m, generator=generator) / m**0.5 for n, m in ((64, 784), (10, 64))]
    kept = [weight if way == "master" else quantize(weight, "bf16") for weight in kept]
    losses, lost = [], []
    for _ in range(steps):
        batch = torch.randint(len(images), (128,), generator=generator)
        weights = [quantize(weight, "bf16").requires_grad_() for weight in kept]
        loss = _loss(weights, images[batch], labels[batch])
        gradients = torch.autograd.grad(loss, weights)
        changes = [-lr * gradient for gradient in gradients]
        fresh = [updated(*pair, way, generator) for pair in zip(kept, changes, strict=True)]
        losses.append(loss.item())
        lost.append(_lost(kept, fresh, changes))
        kept = fresh
    return Bf16Training(losses, lost)


def _data() -> tuple[torch.Tensor, torch.Tensor]:
    data = fashion_mnist(use="subset")
    images = torch.from_numpy(data.train_images.astype("float32")).flatten(1)
    return (images / 255 - 0.286) / 0.353, torch.from_numpy(data.train_labels.astype("int64"))


def _loss(weights: list[torch.Tensor], images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    hidden = functional.relu(images @ weights[0].T)
    return functional.cross_entropy(hidden @ weights[1].T, labels)


def _lost(
    before: list[torch.Tensor], after: list[torch.Tensor], changes: list[torch.Tensor]
) -> float:
    """Return the share of updates that were not zero and left their weight as it was."""
    same, updates = 0, 0
    for old, new, change in zip(before, after, changes, strict=True):
        real = change != 0
        same += int((real & (old == new)).sum())
        updates += int(real.sum())
    return same / updates if updates else 0.0
