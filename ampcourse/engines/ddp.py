"""The engine ddp: every process holds the whole model, gradients are averaged.

The recipe is carried out by the benchmark's own step (autocast, GradScaler, Apex's levels), on a
model in DistributedDataParallel. An inf in one process's gradients is in the average, so that all
scalers skip the same step.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.steps import prepare
from ampcourse.distributed import Ranks
from ampcourse.engines.engine import Engine, adamw, state_tensors


class Ddp(Engine):
    """Distributed data parallel training; alone, plain training."""

    name = "ddp"

    def __init__(
        self,
        recipe: Recipe,
        model: nn.Module,
        learning_rate: float,
        machine: Machine,
        ranks: Ranks,
    ) -> None:
        super().__init__(recipe, machine, ranks)
        self._plain = model
        self._step = prepare(recipe, model, adamw(learning_rate), machine, ranks.wrap)

    @property
    def module(self) -> nn.Module:
        return self._step.model

    @property
    def scale(self) -> float | None:
        return self._step.scale

    @property
    def skipped(self) -> int:
        return self._step.skipped

    def active(self) -> AbstractContextManager[Any]:
        return self._step.active()

    def step(
        self,
        images: torch.Tensor,
        labels: torch.Tensor,
        between: Callable[[], None] | None = None,
    ) -> torch.Tensor:
        self.steps += 1
        return self._step.step(self._step.place(images), labels, between)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self._step.forward(self._step.place(images))

    def weights(self) -> dict[str, torch.Tensor]:
        return {name: w.detach().clone() for name, w in self._plain.named_parameters()}

    def tensors(self) -> dict[str, list[torch.Tensor]]:
        parameters = list(self._plain.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        state = state_tensors(self._step.optimizer)
        return {"weights": [*parameters], "gradients": gradients, "optimizer": state}

    def save(self, folder: Path) -> None:
        if self.ranks.reports:  # every process has all of it
            # The wrapped model's names begin with "module.", a single process's do not.
            state = self._step.state_dict() | {"model": self._plain.state_dict()}
            torch.save(state, folder / "state.pt")

    def load(self, folder: Path, world_size: int) -> None:
        device = self.machine.device
        state = torch.load(folder / "state.pt", map_location=device, weights_only=True)
        if self._step.model is not self._plain:
            state["model"] = {f"module.{name}": w for name, w in state["model"].items()}
        self._step.load_state_dict(state)
        self.steps = self._step.steps
