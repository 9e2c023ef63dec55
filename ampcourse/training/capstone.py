"""The capstone's runs: batches, networks and settings, and all that a training under way holds.

Lesson 14's learners write the parts that work on a run: `train_step`, `evaluate`, `save` and
`load`, `cause`, `fit`. `training.script` makes a script of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.training.data import FashionMnist, fashion_mnist
from ampcourse.training.models import residual_net

#: Name → the type that autocast computes in; None for FP32 throughout.
PRECISIONS: Mapping[str, torch.dtype | None] = MappingProxyType(
    {"fp32": None, "amp-fp16": torch.float16, "amp-bf16": torch.bfloat16}
)


@dataclass(frozen=True)
class Settings:
    """How a network is trained unless the arguments say otherwise."""

    learning_rate: float
    batch: int
    piece: int
    growth_interval: int


#: The small net takes a hundred steps: with torch's interval of 2000 its scale would never grow.
MODELS: Mapping[str, Settings] = MappingProxyType(
    {"small": Settings(0.1, 64, 32, 20), "resnet50": Settings(0.1, 256, 256, 2000)}
)

#: With a mean loss of the order of 1 no gradient needs a smaller scale: what is too large even then
#: is a fault, not a scale to find.
SMALLEST_SCALE = 1.0

# Mean and standard deviation of the pixels of FashionMNIST's training images, over 255.
_MEAN, _STD = 0.286, 0.353

Convert = Callable[[torch.Tensor], torch.Tensor]


class TrainingStopped(RuntimeError):
    """Training stopped because it cannot go on; `cause` is its cause in one word."""

    def __init__(self, cause: str, remark: str = "") -> None:
        super().__init__(f"stopped: {cause}" + f" ({remark})" * bool(remark))
        self.cause = cause


class Batches:
    """Batches of pictures in an order that is drawn anew for each epoch.

    `order` holds the positions of this epoch's pictures, `position` is the place in it where the
    next batch begins, and `generator` draws the orders. A last short batch is left out.
    """

    def __init__(
        self,
        images: torch.Tensor,
        labels: torch.Tensor,
        size: int,
        seed: int = 0,
        convert: Convert = torch.Tensor.float,
    ) -> None:
        if not 1 <= size <= len(images):
            raise ValueError(f"a batch of {size}: give 1 to {len(images)}, the images there are")
        self.images, self.labels, self.size, self.convert = images, labels, size, convert
        self.generator = torch.Generator().manual_seed(seed)
        self.order = torch.empty(0, dtype=torch.int64)
        self.position = 0

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return len(self.images) // self.size

    def draw(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next batch, as the network wants it, and its labels."""
        if self.position + self.size > len(self.order):
            self.order = torch.randperm(len(self.images), generator=self.generator)
            self.position = 0
        chosen = self.order[self.position : self.position + self.size]
        self.position += self.size
        return self.convert(self.images[chosen]), self.labels[chosen]


@dataclass
class Run:
    """A training under way: all that its parts work on.

    `test` is the test pictures and their labels. A batch goes through the network in pieces of
    `piece` pictures, and its gradient is clipped to a norm of `max_norm`. `history` has one entry
    a step, a dict with `loss`, `scale` and `taken`.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: torch.optim.lr_scheduler.LRScheduler
    scaler: torch.amp.GradScaler
    batches: Batches
    test: tuple[torch.Tensor, torch.Tensor]
    precision: str = "amp-fp16"
    device: str = "cpu"
    piece: int = 32
    max_norm: float = 1.0
    history: list[dict[str, Any]] = field(default_factory=list)

    def autocast(self) -> torch.autocast:
        """Return the context of a forward pass in this run's precision."""
        dtype = PRECISIONS[self.precision]
        return torch.autocast(self.device, dtype, enabled=dtype is not None)

    def test_batches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield all test pictures with their labels; the last batch is as short as it comes."""
        images, labels = self.test
        size = self.batches.size
        for some, theirs in zip(images.split(size), labels.split(size), strict=True):
            yield self.batches.convert(some), theirs


def assemble(
    model: nn.Module,
    batches: Batches,
    test: tuple[torch.Tensor, torch.Tensor],
    *,
    precision: str = "amp-fp16",
    device: str = "cpu",
    learning_rate: float = 0.1,
    steps: int = 100,
    scale: float = 2.0**16,
    growth_interval: int = 2000,
    piece: int = 32,
    max_norm: float = 1.0,
) -> Run:
    """Return a run of SGD with momentum whose rate rises over a fifth of `steps`, then falls to 0.

    Its scaler is torch's, and does something in "amp-fp16" alone. Raises ValueError for an unknown
    precision.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision {precision!r} is unknown; choose from {', '.join(PRECISIONS)}")
    optimizer = torch.optim.SGD(
        model.parameters(), lr=learning_rate, momentum=0.9, weight_decay=1e-4
    )
    rising = max(1, steps // 5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / rising, max(0, steps - step) / max(1, steps - rising)),
    )
    scaler = torch.amp.GradScaler(
        device, scale, growth_interval=growth_interval, enabled=precision == "amp-fp16"
    )
    return Run(
        model, optimizer, scheduler, scaler, batches, test, precision, device, piece, max_norm
    )


def start(
    model: str = "small",
    *,
    precision: str = "amp-fp16",
    epochs: int = 3,
    data: FashionMnist | str = "subset",
    images: int | None = None,
    pixels: int = 28,
    device: str = "cpu",
    seed: int = 0,
    **changes: Any,
) -> Run:
    """Return a run on FashionMNIST that has not begun: weights, order and dropout from `seed`.

    `data` is as in `fashion_mnist(use=…)`, `images` at most so many training images, and
    `changes` replace the model's settings (learning_rate, batch, piece, growth_interval) or those
    of `assemble`. Sets the global random state, since dropout draws from it. Raises ValueError for
    an unknown model or precision and for a batch that the data does not have.
    """
    if model not in MODELS:
        raise ValueError(f"model {model!r} is unknown; choose from {', '.join(MODELS)}")
    options = {**vars(MODELS[model]), **changes}
    found = _pictures(data) if isinstance(data, str) else data
    kept = slice(images)
    train = _tensors(found.train_images[kept], found.train_labels[kept], device)
    convert = _converter(pixels)
    batches = Batches(*train, options.pop("batch"), seed, convert)
    torch.manual_seed(seed)
    network = residual_net() if model == "small" else _resnet50()
    network = network.to(device, memory_format=torch.channels_last)
    if device == "cuda" and precision == "fp32":
        _without_tf32()
    test = _tensors(found.test_images, found.test_labels, device)
    steps = epochs * len(batches)
    return assemble(
        network, batches, test, precision=precision, device=device, steps=steps, **options
    )


def fingerprint(model: nn.Module) -> str:
    """Return a short text that differs where one bit of a weight or a statistic does."""
    found = hashlib.sha256()
    for tensor in model.state_dict().values():
        found.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return found.hexdigest()[:16]


@cache
def _pictures(use: str) -> FashionMnist:
    return fashion_mnist(use=use)


def _tensors(images: Any, labels: Any, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor(images).unsqueeze(1)
    return x.to(device), torch.tensor(labels).long().to(device)


def _converter(pixels: int) -> Convert:
    def convert(images: torch.Tensor) -> torch.Tensor:
        x = images.float().div(255).sub(_MEAN).div(_STD)
        same = x.shape[-1] == pixels
        return x if same else F.interpolate(x, (pixels, pixels), mode="bilinear")

    return convert


def _resnet50() -> nn.Module:
    from torchvision.models import resnet50

    network: nn.Module = resnet50(num_classes=10)
    setattr(network, "conv1", nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False))  # noqa: B010
    return network


def _without_tf32() -> None:
    for backend in (torch.backends.cuda.matmul, getattr(torch.backends.cudnn, "conv")):  # noqa: B009
        backend.fp32_precision = "ieee"
