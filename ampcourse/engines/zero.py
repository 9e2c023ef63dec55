"""The engine deepspeed: ZeRO's stages 1, 2 and 3 by DeepSpeed, an optional extra.

Under amp-bf16 and amp-fp16 weights are 16-bit ones and each process keeps FP32 masters of its part,
so that bytes are those of the ZeRO paper; DeepSpeed scales the loss itself. Batch norms compute in
FP32.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import Recipe
from ampcourse.distributed import Ranks
from ampcourse.engines.engine import BETAS, EPS, WEIGHT_DECAY, Engine, state_tensors

#: How DeepSpeed is installed without a GPU's compiler.
INSTALL = (
    "python -m pip install setuptools wheel && DS_ACCELERATOR=cpu DS_BUILD_OPS=0 "
    "python -m pip install --no-build-isolation deepspeed"
)


def missing() -> str:
    """Return why DeepSpeed cannot be used here, or ""."""
    if importlib.util.find_spec("deepspeed") is None:
        return f"deepspeed is not installed; on a CPU: {INSTALL}"
    return ""


def configuration(recipe: Recipe, stage: int, share: int, learning_rate: float) -> dict[str, Any]:
    """Return DeepSpeed's configuration for a recipe, each process taking `share` images a step.

    Raises ValueError for a stage other than 1, 2 or 3.
    """
    if stage not in (1, 2, 3):
        raise ValueError(f"stage {stage!r} is unknown; ZeRO has 1, 2 and 3")
    found: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": share,
        "gradient_accumulation_steps": 1,
        # Left away, DeepSpeed 0.19 clips to a norm of 1, which no other engine here does.
        "gradient_clipping": 0.0,
        "optimizer": {
            "type": "AdamW",
            "params": {
                "lr": learning_rate,
                "betas": list(BETAS),
                "eps": EPS,
                "weight_decay": WEIGHT_DECAY,
                "torch_adam": True,  # DeepSpeed's own would have to be compiled
            },
        },
        "zero_optimization": {"stage": stage, "overlap_comm": False},
    }
    if stage == 3:
        # Small tensors would be kept whole on each rank; here all are divided.
        found["zero_optimization"]["stage3_param_persistence_threshold"] = 0
    if recipe.rule.autocast == "bfloat16":
        found["bf16"] = {"enabled": True}
    if recipe.rule.autocast == "float16":
        found["fp16"] = {
            "enabled": True,
            "loss_scale": 0,  # 0: dynamic
            "initial_scale_power": 16,
            "loss_scale_window": 2000,
            "hysteresis": 1,  # torch's GradScaler halves at the first overflow
            "min_loss_scale": 1,
        }
    return found


class Zero(Engine):
    """Training by DeepSpeed; needs a process group, also of one.

    `share` is this process's part of the batch; `changes` replace entries of `configuration`, None
    leaves one away. Raises ModuleNotFoundError, with the command that installs it, where DeepSpeed
    is missing.
    """

    name = "deepspeed"

    def __init__(
        self,
        recipe: Recipe,
        model: nn.Module,
        learning_rate: float,
        machine: Machine,
        ranks: Ranks,
        *,
        share: int,
        stage: int = 2,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(recipe, machine, ranks)
        deepspeed = _deepspeed(machine)
        self.stage = stage
        whole = {**configuration(recipe, stage, share, learning_rate), **(changes or {})}
        self.config = {name: value for name, value in whole.items() if value is not None}
        model = machine.to(model)
        if recipe.rule.autocast:
            _keep_batch_norms(model)
        self._engine: Any = deepspeed.initialize(
            model=model, model_parameters=model.parameters(), config=self.config
        )[0]
        self._gathered = deepspeed.zero.GatheredParameters
        self._half = getattr(torch, recipe.rule.autocast) if recipe.rule.autocast else None

    @property
    def module(self) -> nn.Module:
        module: nn.Module = self._engine.module
        return module

    @property
    def scale(self) -> float | None:
        fp16 = self._half is torch.float16
        return float(self._engine.optimizer.loss_scale) if fp16 else None

    @property
    def skipped(self) -> int:
        return int(self._engine.skipped_steps)

    def step(
        self,
        images: torch.Tensor,
        labels: torch.Tensor,
        between: Callable[[], None] | None = None,
    ) -> torch.Tensor:
        self.steps += 1
        loss = F.cross_entropy(self.forward(images), labels)
        self._engine.backward(loss)
        if between is not None:
            between()
        self._engine.step()
        return loss.detach()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self._engine(images.to(self._half) if self._half else images)
        return output.float()

    def weights(self) -> dict[str, torch.Tensor]:
        named = dict(self.module.named_parameters())
        with self._gathered(list(named.values()), enabled=self.stage == 3):
            return {name: w.detach().clone() for name, w in named.items()}

    def tensors(self) -> dict[str, list[torch.Tensor]]:
        engine, parameters = self._engine.optimizer, list(self.module.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        gradients += _inside(getattr(engine, "all_grad_tensors", {}))
        if self.stage == 3:
            # The parts, and what is kept whole beside them: empty tensors, as it is configured.
            weights: list[torch.Tensor] = [*(p.ds_tensor for p in parameters), *parameters]
            gradients.append(engine.grad_partitions_flat_buffer)
            masters = engine.fp32_partitioned_groups_flat
        else:
            weights = [*parameters]
            gradients += _inside(engine.averaged_gradients)
            masters = engine.single_partition_of_fp32_groups
        state = [*masters, *state_tensors(engine.optimizer)]
        return {"weights": weights, "gradients": gradients, "optimizer": state}

    def bytes(self) -> dict[str, int]:
        found = super().bytes()
        if self.stage < 3:
            # Before the update these are this rank's part of one row of all gradients, cut out of
            # a buffer in which the tensors at its ends are still whole.
            part = _inside(self._engine.optimizer.averaged_gradients)
            if part:
                found["gradients"] = sum(t.numel() * t.element_size() for t in part)
        return found

    def save(self, folder: Path) -> None:
        self._engine.save_checkpoint(str(folder), tag="state")

    def load(self, folder: Path, world_size: int) -> None:
        if world_size != self.ranks.world_size:
            raise ValueError(
                f"{folder} was saved by {world_size} processes of DeepSpeed, these are "
                f"{self.ranks.world_size}: start as many, or turn it into a checkpoint for any "
                "number with DeepSpeed's ds_to_universal.py"
            )
        self._engine.load_checkpoint(str(folder), tag="state")
        self.steps = int(self._engine.global_steps)


def _keep_batch_norms(model: nn.Module) -> None:
    """Have batch norms compute in FP32, as their running statistics are kept.

    DeepSpeed makes their weights 16-bit ones and leaves the statistics in FP32: torch refuses the
    mixture, and statistics of 16 bits would stand still.
    """
    for norm in model.modules():
        if isinstance(norm, nn.modules.batchnorm._BatchNorm):
            norm.forward = partial(_normalise, norm)


def _normalise(norm: Any, x: torch.Tensor) -> torch.Tensor:
    if norm.training:
        norm.num_batches_tracked.add_(1)
    means, variances = norm.running_mean, norm.running_var
    weight, bias = norm.weight.float(), norm.bias.float()
    y = F.batch_norm(
        x.float(), means, variances, weight, bias, norm.training, norm.momentum, norm.eps
    )
    return y.to(x.dtype)


def _inside(groups: Any) -> list[torch.Tensor]:
    """Return the tensors in DeepSpeed's lists of lists of tensors or None, by group."""
    lists = [group if isinstance(group, list | tuple) else [group] for group in groups.values()]
    return [tensor for group in lists for tensor in group if torch.is_tensor(tensor)]


def _deepspeed(machine: Machine) -> Any:
    if missing():
        raise ModuleNotFoundError(missing(), name="deepspeed")
    if machine.kind == "cpu":
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    os.environ.setdefault("LOCAL_RANK", "0")  # it asks for it, also of a process that is alone
    # A page of settings from each process, and torch's new names for what it calls at each step.
    logging.getLogger("DeepSpeed").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\.distributed")
    import deepspeed

    if machine.kind == "cpu":
        # It would compile an all-reduce through shared memory first, for minutes; gloo has one.
        # By its full name: the attribute deepspeed.comm.torch is torch itself.
        backend: Any = importlib.import_module("deepspeed.comm.torch")
        backend.build_shm_op = lambda: None
    return deepspeed
