"""Train a prepared step on real pictures and note what a comparison of recipes needs to know."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.metrics import confusion, scores
from ampcourse.benchmark.pictures import Pictures
from ampcourse.benchmark.steps import Step
from ampcourse.distributed import SINGLE, Ranks

#: The steps whose gradients are looked at, besides the last.
LOOKS = (1, 10, 100, 1_000, 10_000)

#: The smallest number above 0 in FP16: what is smaller in magnitude leaves its range.
SMALLEST_FP16 = 2.0**-24

# How often the loss scale is asked for where nothing was skipped: on a GPU, asking waits.
_ASK_EVERY = 50


def train(
    step: Step,
    data: Pictures,
    machine: Machine,
    *,
    batch: int,
    epochs: int,
    seed: int,
    ranks: Ranks | None = None,
    deadline: float | None = None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any]:
    """Train for some epochs and return the fields of a "training" row; call it within
    `step.active()`.

    `batch` is the global batch, over all processes; a last short one of an epoch is dropped. The
    order of the images depends on `seed` alone. The learning rate rises over the first fifth of
    all steps to what the optimizer was given, and falls in equal steps to nothing at the end.

    In the row: `epochs` with the mean loss of training, and test loss, accuracy, precision, recall
    and F1 (macro) on the test images, in the recipe's own arithmetic, and seconds; `wall_s` of all
    epochs, drawing images and moving them to the device included, evaluation not (`evaluation_s`);
    `scale_history` as pairs of a step and the loss scale seen after it, where that changed;
    `flushed_share`, by step, the shares of the weights' gradients that are below 2^-24, not 0, and
    that are 0, once they are unscaled.

    No epoch begins after `deadline`, a time.perf_counter(); then `stopped_early` is true. Training
    ends with status "failed" after an epoch whose loss is not finite. `progress` is called with
    the number of steps just done. Raises ValueError for no epoch and for a batch of no image, of
    more than there are, or that cannot be cut equally.
    """
    ranks = ranks or SINGLE
    _check(data, batch, epochs, ranks)
    run = _Run(step, data, machine, batch, epochs, ranks, progress or _no_progress)
    generator = torch.Generator().manual_seed(seed)
    row: dict[str, Any] = {"stopped_early": False}
    for number in range(epochs):
        late = deadline is not None and time.perf_counter() > deadline
        if _agreed(late, machine, ranks):
            row["stopped_early"] = True
            break
        run.epoch(torch.randperm(len(data.train_images), generator=generator))
        if not math.isfinite(run.epochs[-1]["loss"]):
            loss = run.epochs[-1]["loss"]
            row |= {"status": "failed", "message": f"the loss of epoch {number + 1} is {loss}"}
            break
    return run.row() | row


def learning_rate(done: int, total: int) -> float:
    """Return the factor of the learning rate for the step after `done` of `total` steps.

    >>> [learning_rate(done, 10) for done in range(10)]
    [0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
    """
    rising = max(1, total // 5)
    if done < rising:
        return (done + 1) / rising
    return (total - done) / (total - rising)


class _Run:
    """A training under way and what was noted of it."""

    def __init__(
        self,
        step: Step,
        data: Pictures,
        machine: Machine,
        batch: int,
        epochs: int,
        ranks: Ranks,
        progress: Callable[[int], object],
    ) -> None:
        self.step, self.data, self.machine, self.ranks = step, data, machine, ranks
        self.progress = progress
        self.batch, self.total = batch, epochs * (len(data.train_images) // batch)
        self.rates = [group["lr"] for group in step.optimizer.param_groups]
        self.done, self.skipped_before = 0, step.skipped
        self.epochs: list[dict[str, Any]] = []
        self.scales: list[tuple[int, float]] = []
        self.looks: list[tuple[int, torch.Tensor]] = []
        self._note_scale()

    def epoch(self, order: torch.Tensor) -> None:
        """Train on the images once, in an order, and evaluate."""
        self.step.model.train()
        self.machine.synchronize()
        start = time.perf_counter()
        losses = torch.zeros((), device=self.machine.device)
        batches = len(order) // self.batch
        for positions in order[: batches * self.batch].split(self.batch):
            losses += self._one(*self._inputs(self.ranks.part(positions), "train"))
            self.progress(1)
        self.machine.synchronize()
        seconds = time.perf_counter() - start
        self._note_scale()
        loss = self.ranks.sum(losses).item() / batches / self.ranks.world_size
        start = time.perf_counter()
        found = self._evaluate() if math.isfinite(loss) else {}
        self.epochs.append(
            {
                "loss": loss,
                **found,
                "scale": self.scales[-1][1] if self.scales else None,
                "seconds": seconds,
                "evaluation_s": time.perf_counter() - start,
            }
        )

    def row(self) -> dict[str, Any]:
        """Return what was noted as fields of a row."""
        final = dict(self.epochs[-1]) if self.epochs else {}
        wall, evaluation = (
            sum(epoch[name] for epoch in self.epochs) for name in ("seconds", "evaluation_s")
        )
        for name in ("seconds", "evaluation_s"):
            final.pop(name, None)
        return {
            "status": "ok",
            "epochs": self.epochs,
            "final": final,
            "wall_s": wall,
            "evaluation_s": evaluation,
            "scale_history": [list(pair) for pair in self.scales],
            "flushed_share": [_shares(number, counts) for number, counts in self.looks],
            "steps": self.done,
            "skipped_steps": self.step.skipped - self.skipped_before,
        }

    def _one(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        factor = learning_rate(self.done, self.total)
        for group, rate in zip(self.step.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
        skipped = self.step.skipped
        loss = self.step.step(images, labels)
        self.done += 1
        if self.step.skipped > skipped or self.done % _ASK_EVERY == 0:
            self._note_scale()
        if self.done in (*LOOKS, self.total):
            self.looks.append((self.done, _count_small(self.step.optimizer)))
        return loss

    def _inputs(self, positions: torch.Tensor, part: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw images, as a loader does: from where they lie, moved as uint8, prepared there."""
        images, labels = (
            self.machine.to(tensor[positions.to(tensor.device)])
            for tensor in (getattr(self.data, f"{part}_{name}") for name in ("images", "labels"))
        )
        return self.step.place(self.data.inputs(images)), labels

    def _evaluate(self) -> dict[str, float]:
        """Return loss and scores on the test images, each seen by one of the processes."""
        self.step.model.eval()
        classes, size = self.data.classes, self.ranks.share(self.batch)
        found = torch.zeros(classes**2 + 1, dtype=torch.float64, device=self.machine.device)
        with torch.no_grad():
            for positions, counted in _shared(len(self.data.test_images), size, self.ranks):
                images, labels = self._inputs(positions, "test")
                outputs = self.step.forward(images)[:counted]
                labels = labels[:counted]
                found[0] += F.cross_entropy(outputs, labels, reduction="sum")
                found[1:] += confusion(labels, outputs.argmax(1), classes).flatten()
        total = self.ranks.sum(found)
        matrix = total[1:].long().view(classes, classes)
        loss = (total[0] / matrix.sum()).item()
        judged = scores(matrix)
        return {"test_loss": loss, "test_accuracy": judged.pop("accuracy"), **judged}

    def _note_scale(self) -> None:
        scale = self.step.scale
        if scale is not None and (not self.scales or self.scales[-1][1] != scale):
            self.scales.append((self.done, scale))


def _no_progress(steps: int) -> None:
    """Tell nobody."""


def _check(data: Pictures, batch: int, epochs: int, ranks: Ranks) -> None:
    images = len(data.train_images)
    if epochs < 1:
        raise ValueError(f"epochs={epochs} trains nothing; give 1 or more")
    if not 1 <= batch <= images:
        raise ValueError(f"batch={batch} must be between 1 and {images}, the images there are")
    ranks.share(batch)


def _agreed(late: bool, machine: Machine, ranks: Ranks) -> bool:
    """Return whether any process is late: all must stop after the same epoch."""
    return bool(ranks.sum(torch.tensor(float(late), device=machine.device)).item())


def _shared(count: int, size: int, ranks: Ranks) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield a process's positions of `count` images, and how many of them count.

    Every process gets as many parts of the same sizes, since each forward pass of DDP waits for
    the others; where images run out, it sees the first again, which does not count.
    """
    each = math.ceil(count / ranks.world_size)
    own = torch.arange(ranks.rank, each * ranks.world_size, ranks.world_size)
    for part in own.split(size):
        inside = part < count  # all, or all but the last
        yield torch.where(inside, part, 0), int(inside.sum())


def _count_small(optimizer: torch.optim.Optimizer) -> torch.Tensor:
    """Return how many gradients are 0, below 2^-24 but not 0, and finite; without waiting."""
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    sizes = [p.grad.abs() for p in parameters if p.grad is not None]
    zero = sum(size.eq(0).sum() for size in sizes)
    below = sum(size.lt(SMALLEST_FP16).sum() for size in sizes)
    finite = sum(size.isfinite().sum() for size in sizes)
    return torch.stack([zero, below - zero, finite])


def _shares(number: int, counts: torch.Tensor) -> dict[str, float | None]:
    zero, below, finite = counts.tolist()
    shares = (below / finite, zero / finite) if finite else (None, None)
    return {"step": number, "below": shares[0], "zero": shares[1]}
