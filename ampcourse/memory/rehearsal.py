"""A training step on tensors without numbers: shapes, types and lifetimes, but no arithmetic.

torch's fake tensors run the real model, autograd, autocast and optimizer, and allocate nothing.
What a step would do is seen by a dispatch mode, which is told every operation below autograd. A
CPU's BF16 stands in for the 16-bit type: where both lists of autocast agree, as for convolutions
and linear layers, the bytes are those of FP16 on a GPU. Dropout's mask is not: a CPU keeps it in
the type of its input, a GPU in one byte per number.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

#: Makes an optimizer of parameters.
MakeOptimizer = Callable[[Iterable[torch.Tensor]], torch.optim.Optimizer]

RECIPES = ("fp32", "autocast", "O2", "half")

OPTIMIZERS: dict[str, MakeOptimizer] = {
    "sgd": partial(torch.optim.SGD, lr=0.1),
    "momentum": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    "adam": torch.optim.Adam,
}

_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class Watcher(TorchDispatchMode):
    """Sees every operation of a rehearsal; `phase` is "forward", "backward" or "optimizer"."""

    phase = "forward"

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first call imports all of torch._dynamo, which takes seconds

    def ready(self, rehearsal: Rehearsal) -> None:
        """Look at model, input and optimizer before the step; by default, do nothing."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


@dataclass
class Rehearsal:
    """A model, its input and its optimizer without numbers, ready for a step."""

    model: nn.Module
    inputs: torch.Tensor
    optimizer: torch.optim.Optimizer
    recipe: str
    #: FP32 copies of the parameters in 16 bits, and those parameters: empty but for O2.
    masters: list[tuple[torch.Tensor, torch.Tensor]]


def rehearse(
    model: nn.Module,
    inputs: torch.Tensor | Sequence[int],
    recipe: str = "fp32",
    optimizer: str | MakeOptimizer = "momentum",
    *,
    watcher: Watcher,
    loss: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Rehearsal:
    """Take one training step of a copy of `model` without numbers, watched by `watcher`.

    `inputs` is a tensor or its shape; its batch is its first axis. `loss` makes a number of the
    output; by default cross entropy for an output (n, classes), else the mean. The optimizer has
    its state already, as in any step but the first. The model and its numbers stay as they are.
    Raises ValueError for an unknown recipe or optimizer.
    """
    if recipe not in RECIPES:
        raise ValueError(f"recipe {recipe!r} is unknown; choose from {', '.join(RECIPES)}")
    make = _maker(optimizer)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with FakeCopyMode(mode):
        ghost = copy.deepcopy(model)
    with mode, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*lr_scheduler.*")
        ready = _ready(ghost, inputs, recipe, make)
        watcher.ready(ready)
        with watcher:
            _step(ready, watcher, loss or default_loss)
    return ready


def default_loss(output: torch.Tensor) -> torch.Tensor:
    """Return cross entropy against class 0 for an output (n, classes), else the mean."""
    if output.dim() != 2:
        return output.float().mean()
    return F.cross_entropy(output, torch.zeros(len(output), dtype=torch.long))


def _maker(optimizer: str | MakeOptimizer) -> MakeOptimizer:
    if not isinstance(optimizer, str):
        return optimizer
    if optimizer not in OPTIMIZERS:
        known = ", ".join(OPTIMIZERS)
        raise ValueError(
            f"optimizer {optimizer!r} is unknown; choose from {known}, or give a function of the "
            "parameters that returns one"
        )
    return OPTIMIZERS[optimizer]


def _ready(
    model: nn.Module, inputs: torch.Tensor | Sequence[int], recipe: str, make: MakeOptimizer
) -> Rehearsal:
    shape = inputs.shape if isinstance(inputs, torch.Tensor) else tuple(inputs)
    dtype = inputs.dtype if isinstance(inputs, torch.Tensor) else torch.float32
    x = torch.empty(shape, dtype=dtype)
    if recipe in ("O2", "half") and x.is_floating_point():
        x = x.bfloat16()
    _convert(model, recipe)
    low = [p for p in model.parameters() if p.dtype == torch.bfloat16 and p.requires_grad]
    masters = [(p.detach().float().requires_grad_(), p) for p in low] if recipe == "O2" else []
    replaced = {id(p): master for master, p in masters}
    trained = [replaced.get(id(p), p) for p in model.parameters() if p.requires_grad]
    return Rehearsal(model, x, _with_state(make(trained)), recipe, masters)


def _convert(model: nn.Module, recipe: str) -> None:
    """Put parameters and buffers on the CPU and in the recipe's type, tied ones once.

    O2 leaves those of batch norms in FP32. Module.to would swap fake tensors, which it cannot.
    """
    done: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # the first keeps its id its own
    for module in model.modules():
        half = recipe == "half" or (recipe == "O2" and not isinstance(module, _BATCH_NORMS))
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    made = done.setdefault(id(tensor), (tensor, _converted(tensor, half)))
                    tensors[name] = made[1]


def _converted(tensor: torch.Tensor, half: bool) -> torch.Tensor:
    dtype = torch.bfloat16 if half and tensor.is_floating_point() else tensor.dtype
    moved = tensor.detach().to("cpu", dtype)
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(moved, requires_grad=tensor.requires_grad)
    return moved


def _with_state(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    for group in optimizer.param_groups:
        if group.get("foreach", False) is None and not group.get("fused"):
            group["foreach"] = True  # torch's default on a GPU, not on a CPU
        for parameter in group["params"]:
            parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    return optimizer


def _step(ready: Rehearsal, watcher: Watcher, loss: Callable[[torch.Tensor], torch.Tensor]) -> None:
    watcher.phase = "forward"
    with torch.autocast("cpu", torch.bfloat16, enabled=ready.recipe == "autocast"):
        value = loss(ready.model(ready.inputs))
    watcher.phase = "backward"
    value.backward()
    del value
    watcher.phase = "optimizer"
    with torch.no_grad():
        for master, parameter in ready.masters:
            master.grad = None if parameter.grad is None else parameter.grad.float()
    ready.optimizer.step()
    with torch.no_grad():
        for master, parameter in ready.masters:
            parameter.copy_(master)
