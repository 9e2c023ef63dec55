"""Train a deep, narrow network in FP16 on a CPU, with or without a loss scale and master weights.

The network is small enough for FP16 on any CPU and deep enough for its gradients to leave the
range of FP16: with PyTorch's default initialisation each layer passes on a smaller gradient than
it got. It was found by trying depths, not by touching weights or losses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.amp.master_weights import MasterWeights
from ampcourse.amp.static_scaler import StaticScaler
from ampcourse.training.data import FashionMnist
from ampcourse.training.loop import to_tensors


def deep_net(depth: int = 18, width: int = 32, inputs: int = 196) -> nn.Sequential:
    """Return `depth` linear layers with ReLU in between: `inputs`, then `width`, last 10.

    Initialised as torch does by default, from the global random state. Raises ValueError for a
    depth under 2.
    """
    if depth < 2:
        raise ValueError(f"depth={depth} leaves no hidden layer; give 2 or more")
    layers: list[nn.Module] = [nn.Flatten(), nn.Linear(inputs, width), nn.ReLU()]
    for _ in range(depth - 2):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def small_images(data: FashionMnist) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the training images, normalised and averaged to 14 × 14 in FP32, and their labels."""
    images, labels = to_tensors(data.train_images, data.train_labels, "cpu")
    return F.avg_pool2d(images, 2), labels


@dataclass(frozen=True)
class Arm:
    """One way to train: the model's type, the loss scale, and whether masters are kept."""

    name: str
    scale: float = 1.0
    master: bool = True
    dtype: torch.dtype = torch.float16


class HalfTraining:
    """One network trained in one arm from one seed, step by step, with what was seen noted.

    Arms of the same seed start from the same weights (rounded to the arm's type) and see the same
    batches. The forward pass and its gradients are in the arm's type, the loss in FP32; Adam works
    in FP32 whatever the arm, since its epsilon of 1e-8 is 0 in FP16. An arm without masters
    forgets after each step what its weights could not hold; its Adam state stays in FP32, so that
    nothing but the copy differs.

    `losses` has the training loss of each step; `zeros`, for the steps that looked, the share of
    zeros in each layer's weight gradient; `unmoved` the share of updates, of those that are not 0,
    that leave the weight as it was in the arm's type. Without a master they are lost.
    """

    def __init__(
        self, arm: Arm, images: torch.Tensor, labels: torch.Tensor, seed: int = 0, batch: int = 64
    ) -> None:
        self.arm, self.batch = arm, batch
        self.images, self.labels = images.to(arm.dtype), labels
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = deep_net(inputs=images[0].numel()).to(arm.dtype)
        self.optimizer = MasterWeights(torch.optim.Adam(self.model.parameters(), fused=True))
        self.scaler = StaticScaler(arm.scale)
        self.generator = torch.Generator().manual_seed(seed)
        self.losses: list[float] = []
        self.zeros: list[list[float]] = []
        self.unmoved: list[float] = []

    def run(self, steps: int, learning_rate: float, look: int = 0) -> HalfTraining:
        """Take `steps` steps, look closely at the first `look` of them, and return itself."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        with _one_thread():
            for number in range(steps):
                self._step(number < look)
        return self

    def fork(self, master: bool) -> HalfTraining:
        """Return a copy that goes on from here, with masters or without, and sees the same batches.

        Its notes start empty.
        """
        copy = deepcopy(self)
        copy.arm = replace(self.arm, master=master)
        copy.losses, copy.zeros, copy.unmoved = [], [], []
        if not master:
            copy.optimizer.copy_from_model()
        return copy

    def loss(self) -> float:
        """Return the loss over all images, without training."""
        with torch.no_grad(), _one_thread():
            return F.cross_entropy(self.model(self.images).float(), self.labels).item()

    def _step(self, look: bool) -> None:
        chosen = torch.randint(0, len(self.images), (self.batch,), generator=self.generator)
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(self.images[chosen]).float(), self.labels[chosen])
        self.scaler.scale(loss).backward()
        if look:
            self.zeros.append(zero_shares(self.model))
            before = _flat(self.optimizer.parameters())
            rounded = before.to(self.arm.dtype)
        self.scaler.step(self.optimizer)
        if look:
            after = _flat(self.optimizer.parameters())
            still = after.to(self.arm.dtype).eq(rounded)[after.ne(before)]
            self.unmoved.append(still.count_nonzero().item() / max(1, len(still)))
        if not self.arm.master:
            self.optimizer.copy_from_model()
        self.losses.append(loss.item())


def zero_shares(model: nn.Module) -> list[float]:
    """Return the share of zeros in the weight gradient of each linear layer, in forward order."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    gradients = [layer.weight.grad for layer in layers]
    return [g.eq(0).float().mean().item() for g in gradients if g is not None]


def gradient_damage(
    model: nn.Module, images: torch.Tensor, labels: torch.Tensor, scale: float
) -> tuple[float, float]:
    """Return which shares of all gradients of a batch are 0, and inf or NaN, at a loss scale.

    The loss is scaled in FP32; the gradients are those of the model's type, still scaled. They
    are removed afterwards.
    """
    model.zero_grad()
    with _one_thread():
        StaticScaler(scale).scale(F.cross_entropy(model(images).float(), labels)).backward()
    gradients = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    model.zero_grad()
    zero, finite = gradients.eq(0), gradients.isfinite()
    return zero.float().mean().item(), 1 - finite.float().mean().item()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute in one thread: for tensors this small, others cost more than they do."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _flat(parameters: object) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in parameters])  # type: ignore[attr-defined]
