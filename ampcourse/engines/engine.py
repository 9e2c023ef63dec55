"""What the engines have in common: a training step, an evaluation, bytes per rank, checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.steps import tf32_of
from ampcourse.distributed import Ranks

#: AdamW's settings in every engine: torch's defaults, written out for DeepSpeed's configuration.
BETAS, EPS, WEIGHT_DECAY = (0.9, 0.999), 1e-8, 1e-2


class Engine(ABC):
    """A model in training over all processes; each gives it its own part of a global batch."""

    name: str

    def __init__(self, recipe: Recipe, machine: Machine, ranks: Ranks) -> None:
        self.recipe, self.machine, self.ranks = recipe, machine, ranks
        self.steps = 0

    @abstractmethod
    def step(
        self,
        images: torch.Tensor,
        labels: torch.Tensor,
        between: Callable[[], None] | None = None,
    ) -> torch.Tensor:
        """Take one step and return the loss on this process's images.

        `between` is called between the backward pass and the update.
        """

    @abstractmethod
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the model's output in FP32; every process must call it, as often as the others."""

    @property
    @abstractmethod
    def module(self) -> nn.Module:
        """The network, for train() and eval()."""

    @property
    @abstractmethod
    def scale(self) -> float | None:
        """The loss scale; None without one."""

    @property
    @abstractmethod
    def skipped(self) -> int:
        """How many steps were skipped for an overflow."""

    @abstractmethod
    def weights(self) -> dict[str, torch.Tensor]:
        """Return copies of the whole weights by name, in each process."""

    @abstractmethod
    def tensors(self) -> dict[str, list[torch.Tensor]]:
        """Return what this process keeps: "weights", "gradients" and "optimizer" with masters.

        To be asked between the backward pass and the update, in the second step or later.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write this process's part of model, optimizer and loss scale; all must call it."""

    @abstractmethod
    def load(self, folder: Path, world_size: int) -> None:
        """Go on from what `world_size` processes saved; ValueError if this engine cannot."""

    def bytes(self) -> dict[str, int]:
        """Return the bytes of `tensors`, padding included; what is shared counts once.

        Adam's step counts, one number for each parameter tensor, are left out.
        """
        return {kind: storage_bytes(found) for kind, found in self.tensors().items()}

    def active(self) -> AbstractContextManager[Any]:
        """Set what the recipe sets for the whole process (TF32), and put it back on leaving."""
        return _tf32(self.recipe, self.machine)

    def mean(self, values: Iterable[float]) -> list[float]:
        """Return the means over all processes of numbers that each of them has."""
        own = torch.tensor(list(values), dtype=torch.float64, device=self.machine.device)
        return [float(x) for x in (self.ranks.sum(own) / self.ranks.world_size).tolist()]


def storage_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Return the bytes of memory behind tensors, each piece of memory once."""
    pieces = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        pieces[storage.data_ptr()] = storage.nbytes()
    return sum(pieces.values())


def state_tensors(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """Return an optimizer's state without its step counts, which are single numbers."""
    return [
        local(value)
        for state in optimizer.state.values()
        for name, value in state.items()
        if torch.is_tensor(value) and name != "step"
    ]


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Return this process's part of a tensor; of one that is not divided, itself."""
    found: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return found


def adamw(
    learning_rate: float,
) -> Callable[[Iterable[torch.Tensor]], torch.optim.Optimizer]:
    """Return a maker of AdamW as every engine uses it."""

    def make(parameters: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            parameters, lr=learning_rate, betas=BETAS, eps=EPS, weight_decay=WEIGHT_DECAY
        )

    return make


@contextmanager
def _tf32(recipe: Recipe, machine: Machine) -> Iterator[None]:
    before = machine.tf32()
    machine.set_tf32(**tf32_of(recipe, machine))
    try:
        yield
    finally:
        machine.set_tf32(**before)
