"""The engine fsdp: FSDP2's fully_shard, each process keeps a part of every parameter.

FP32 parts are gathered before a layer runs, under amp-bf16 and amp-fp16 as 16-bit numbers, and
dropped after it; gradients are summed in FP32 into parts again. What autocast decides op by op,
the MixedPrecisionPolicy decides for whole layers; batch norms are left in FP32.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import Recipe
from ampcourse.distributed import Ranks
from ampcourse.engines.engine import Engine, adamw, local, state_tensors


class Fsdp(Engine):
    """Fully sharded training, which is what ZeRO's stage 3 is.

    Needs a process group, also of one: distributed.process_group(alone=True).
    """

    name = "fsdp"

    def __init__(
        self,
        recipe: Recipe,
        model: nn.Module,
        learning_rate: float,
        machine: Machine,
        ranks: Ranks,
    ) -> None:
        super().__init__(recipe, machine, ranks)
        self._model = shard(machine.to(model), half_of(recipe))
        self.optimizer = adamw(learning_rate)(self._model.parameters())
        # Its check is summed over all processes, since parts of gradients are DTensors: an inf in
        # one process's part makes all skip.
        fp16 = recipe.rule.scaler == "torch"
        self.scaler: Any = torch.amp.GradScaler(machine.kind, enabled=fp16)
        self._taken = 0
        self.optimizer.register_step_post_hook(self._count)

    @property
    def module(self) -> nn.Module:
        return self._model

    @property
    def scale(self) -> float | None:
        return float(self.scaler.get_scale()) if self.scaler.is_enabled() else None

    @property
    def skipped(self) -> int:
        return self.steps - self._taken

    def step(
        self,
        images: torch.Tensor,
        labels: torch.Tensor,
        between: Callable[[], None] | None = None,
    ) -> torch.Tensor:
        self.steps += 1
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.forward(images), labels)
        self.scaler.scale(loss).backward()
        if between is not None:
            between()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self._model(images)
        return output.float()

    def weights(self) -> dict[str, torch.Tensor]:
        found: Any = self._model.named_parameters()
        return {name: p.detach().full_tensor().clone() for name, p in found}

    def tensors(self) -> dict[str, list[torch.Tensor]]:
        parameters = list(self._model.parameters())
        return {
            "weights": [local(p) for p in parameters],
            "gradients": [local(p.grad) for p in parameters if p.grad is not None],
            "optimizer": state_tensors(self.optimizer),
        }

    def save(self, folder: Path) -> None:
        import torch.distributed.checkpoint as dcp

        dcp.save(self._state(), checkpoint_id=folder)

    def load(self, folder: Path, world_size: int) -> None:
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import set_state_dict

        state = self._state()  # says which parts this process wants; others may have saved them
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(
            self._model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self.steps, self._taken = state["counts"].tolist()
        if self.scaler.is_enabled():
            whole = ("growth_interval", "_growth_tracker")
            numbers = zip(sorted(self.scaler.state_dict()), state["scaler"].tolist(), strict=True)
            self.scaler.load_state_dict({k: int(v) if k in whole else v for k, v in numbers})

    def _state(self) -> dict[str, Any]:
        from torch.distributed.checkpoint.state_dict import get_state_dict

        model, optimizer = get_state_dict(self._model, self.optimizer)
        numbers = self.scaler.state_dict()
        return {
            "model": model,
            "optimizer": optimizer,
            "counts": torch.tensor([self.steps, self._taken]),
            "scaler": torch.tensor([float(numbers[k]) for k in sorted(numbers)]).double(),
        }

    def _count(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self._taken += 1


def half_of(recipe: Recipe) -> torch.dtype | None:
    """Return the 16-bit type in which a recipe has layers computed; None for FP32."""
    return getattr(torch, recipe.rule.autocast) if recipe.rule.autocast else None


def shard(model: nn.Module, half: torch.dtype | None) -> nn.Module:
    """Divide each layer's parameters among the processes, in place, and return the model.

    With `half` layers compute in it and gradients are summed in FP32; batch norms stay in FP32.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    full = MixedPrecisionPolicy()
    mixed = MixedPrecisionPolicy(param_dtype=half, reduce_dtype=torch.float32) if half else full
    for layer in model.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            fully_shard(layer, mp_policy=full)
    for layer in model.children():
        if any(True for _ in layer.parameters()) and not hasattr(layer, "unshard"):
            fully_shard(layer, mp_policy=mixed)
    fully_shard(model, mp_policy=mixed)
    return model
