"""Train the same network in several precisions and note what each step took."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.training.data import FashionMnist
from ampcourse.training.models import small_cnn

#: Recipe name → the type that autocast computes in; None runs everything in FP32.
RECIPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}

#: The first steps pay for memory, kernels and caches; the median leaves them out.
WARM_UP = 3

#: A median of fewer steps after the warm-up than this is not to be believed.
ENOUGH = 5

# Mean and standard deviation of the pixels of FashionMNIST's training images, over 255.
_MEAN, _STD = 0.286, 0.353


@dataclass(frozen=True)
class Run:
    """What training with one recipe gave: plain numbers only."""

    recipe: str
    device: str
    batch: int
    losses: tuple[float, ...]
    step_seconds: tuple[float, ...]
    accuracy: float

    @property
    def steps(self) -> int:
        """The number of optimizer steps."""
        return len(self.losses)

    @property
    def step_ms(self) -> float:
        """The median time of a step in milliseconds, without the warm-up steps.

        Where there are no others it is their median: look at `is_believable` before you use it.
        """
        return 1000 * median(self.step_seconds[WARM_UP:] or self.step_seconds)

    @property
    def is_believable(self) -> bool:
        """Whether enough steps followed the warm-up for their median to mean something."""
        return self.steps >= WARM_UP + ENOUGH


def race(
    recipes: Sequence[str],
    data: FashionMnist,
    *,
    epochs: int = 2,
    batch: int = 50,
    width: int = 16,
    learning_rate: float = 2e-3,
    device: str = "cpu",
    seed: int = 0,
    seconds: float = math.inf,
) -> list[Run]:
    """Train the small CNN once per recipe, taking turns step by step, and return one Run each.

    All recipes start from the same weights and see the same batches in the same order; taking
    turns spreads whatever else the machine does evenly over them. All stop after the same number
    of steps, early if the race would else take more than `seconds`, but not before one step.
    Accuracy is measured on the test images with FP32 arithmetic, so that it compares the weights.
    Raises ValueError for an unknown recipe or a batch that is not between 1 and the number of
    training images.
    """
    deadline = time.perf_counter() + seconds
    images, labels = to_tensors(data.train_images, data.train_labels, device)
    if not 1 <= batch <= len(images):
        raise ValueError(f"batch={batch} must be between 1 and {len(images)}, the images there are")
    test = to_tensors(data.test_images, data.test_labels, device)
    trainings = [_Training(recipe, device, width, learning_rate, seed) for recipe in recipes]
    for chosen in _batches(len(images), batch, epochs, seed):
        for training in trainings:
            training.step(images[chosen], labels[chosen])
        if time.perf_counter() + _evaluation_seconds(trainings, batch, len(test[0])) > deadline:
            break
    return [training.result(batch, *test) for training in trainings]


def to_tensors(images: object, labels: object, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return images as normalised FP32 (n, 1, 28, 28) and labels as int64, both on `device`."""
    x = torch.tensor(images, device=device).unsqueeze(1).float().div(255)
    return x.sub(_MEAN).div(_STD), torch.tensor(labels, device=device).long()


class _Training:
    """One network, its optimizer and its loss scaler, trained with one recipe."""

    def __init__(
        self, recipe: str, device: str, width: int, learning_rate: float, seed: int
    ) -> None:
        if recipe not in RECIPES:
            raise ValueError(f"recipe {recipe!r} is unknown; choose from {', '.join(RECIPES)}")
        self.recipe, self.device = recipe, device
        self.dtype = RECIPES[recipe]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model: nn.Module = small_cnn(width).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=learning_rate)
        # FP16 gradients can vanish, so they need a scaled loss; a disabled scaler does nothing.
        self.scaler = torch.amp.GradScaler(device, enabled=recipe == "fp16")
        self.losses: list[float] = []
        self.step_seconds: list[float] = []

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        _wait(self.device)
        start = time.perf_counter()
        self.optimizer.zero_grad()
        with torch.autocast(self.device, self.dtype, enabled=self.dtype is not None):
            loss = F.cross_entropy(self.model(images), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        _wait(self.device)
        self.step_seconds.append(time.perf_counter() - start)
        self.losses.append(loss.item())

    def result(self, batch: int, images: torch.Tensor, labels: torch.Tensor) -> Run:
        with torch.no_grad():  # in batches: all at once is slow where it outgrows the cache
            guesses = torch.cat([self.model(part).argmax(1) for part in images.split(batch)])
        right = guesses.eq(labels).float().mean().item()
        return Run(
            self.recipe, self.device, batch, tuple(self.losses), tuple(self.step_seconds), right
        )


def _evaluation_seconds(trainings: Sequence[_Training], batch: int, images: int) -> float:
    # Forward is about a third of a step; half leaves some room. The fastest recipe's step is
    # nearest to FP32's, in which all are evaluated.
    step = min(training.step_seconds[-1] for training in trainings)
    return len(trainings) * math.ceil(images / batch) * step / 2


def _wait(device: str) -> None:
    # A GPU works on after the call has returned: without this the clock would stop too early.
    if device == "cuda":
        torch.cuda.synchronize()


def _batches(count: int, batch: int, epochs: int, seed: int) -> Iterator[torch.Tensor]:
    """Yield the positions of each batch, shuffled anew per epoch; a last short batch is dropped."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        order = torch.randperm(count, generator=generator)
        for start in range(0, count - batch + 1, batch):
            yield order[start : start + batch]
