"""The kernels of one training step of a model, found by rehearsing it without numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from ampcourse.benchmark.kernels import Kernel, kernels
from ampcourse.memory.rehearsal import MakeOptimizer, Rehearsal, Watcher, rehearse


@dataclass(frozen=True)
class Arithmetic:
    """What a recipe of the benchmark computes in.

    `rehearsed` is the recipe of a rehearsal; convolutions and matrix products of FP32 factors run
    in `convolution` and `matmul`, those of 16-bit factors in `half`.
    """

    rehearsed: str
    convolution: str = "fp32"
    matmul: str = "fp32"
    half: str = ""
    #: Whether a GradScaler reads and writes every gradient once.
    scaler: bool = False


#: "default" is what torch does where nobody chose: TF32 in convolutions, where the GPU can.
RECIPES = {
    "fp32": Arithmetic("fp32"),
    "default": Arithmetic("fp32", convolution="tf32"),
    "tf32": Arithmetic("fp32", convolution="tf32", matmul="tf32"),
    "amp-fp16": Arithmetic("autocast", half="fp16", scaler=True),
    "amp-bf16": Arithmetic("autocast", half="bf16"),
    "O2": Arithmetic("O2", half="fp16", scaler=True),
    "fp16": Arithmetic("half", half="fp16"),
}


def find_recipe(name: str) -> Arithmetic:
    """Return the recipe of this name; ValueError, with the names there are, for another."""
    if name not in RECIPES:
        raise ValueError(f"recipe {name!r} is unknown; choose from {', '.join(RECIPES)}")
    return RECIPES[name]


@dataclass(frozen=True)
class Workload:
    """The kernels of one training step, in order, and the recipe and batch they belong to."""

    recipe: str
    batch: int
    kernels: tuple[Kernel, ...]

    @property
    def flops(self) -> int:
        """Operations of a step, forward and backward; a multiply-add is two."""
        return sum(kernel.flops for kernel in self.kernels)

    @property
    def bytes(self) -> int:
        """Bytes a step moves between memory and chip."""
        return sum(kernel.bytes for kernel in self.kernels)

    @property
    def intensity(self) -> float:
        """Operations per byte of the whole step."""
        return self.flops / self.bytes

    def of_kind(self, *kinds: str) -> Workload:
        """Return the part of these kinds, such as "convolution" or "batch norm"."""
        chosen = tuple(kernel for kernel in self.kernels if kernel.kind in kinds)
        return Workload(self.recipe, self.batch, chosen)


def workload(
    model: nn.Module,
    inputs: torch.Tensor | Sequence[int],
    recipe: str = "fp32",
    optimizer: str | MakeOptimizer = "momentum",
    *,
    loss: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Workload:
    """Return the kernels of a training step of `model`: forward, backward, optimizer.

    `inputs` is a tensor or its shape, such as (256, 3, 224, 224). Nothing is computed and the
    model is not touched; a ResNet50 takes about 3 s. Backward kernels belong to the layer whose
    forward pass they undo; a sum of two gradients to the layer that came last. Raises ValueError
    for an unknown recipe or optimizer.
    """
    rule = find_recipe(recipe)
    watcher = _Ledger(rule.scaler)
    rehearse(model, inputs, rule.rehearsed, optimizer, watcher=watcher, loss=loss)
    batch = len(inputs) if isinstance(inputs, torch.Tensor) else inputs[0]
    return Workload(recipe, batch, tuple(watcher.kernels))


class _Ledger(Watcher):
    """Notes the kernels of each operation and the layer it belongs to."""

    def __init__(self, scaler: bool) -> None:
        super().__init__()
        self.kernels: list[Kernel] = []
        self._scaler = scaler
        self._layer = "loss"  # what runs outside of the model
        self._running: list[str] = []
        self._known: set[Any] = set()

    def ready(self, rehearsal: Rehearsal) -> None:
        for name, module in rehearsal.model.named_modules():
            module.register_forward_pre_hook(self._enters(name))
            module.register_forward_hook(self._leaves)
        if self._scaler:
            rehearsal.optimizer.register_step_pre_hook(self._unscales)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if hasattr(func, "_overloadpacket") and func.namespace == "aten":
            layer = "optimizer" if self.phase == "optimizer" else self._layer
            for kernel in kernels(func, args, result, layer, self.phase):
                self.kernels.append(kernel)
        return result

    def _enters(self, name: str) -> Callable[[nn.Module, Any], None]:
        def hook(module: nn.Module, args: Any) -> None:
            # What was computed since the last module is the work of the one around this.
            self._name_nodes(args)
            self._running.append(self._layer)
            self._layer = name

        return hook

    def _leaves(self, module: nn.Module, args: Any, output: Any) -> None:
        self._name_nodes(output)
        self._layer = self._running.pop()

    def _name_nodes(self, tensors: Any) -> None:
        """Let the backward kernels of what is not named yet belong to the present layer."""
        waiting = [t.grad_fn for t in tree_leaves(tensors) if isinstance(t, torch.Tensor)]
        while waiting:
            node = waiting.pop()
            if node is not None and node not in self._known:
                self._known.add(node)
                node.register_prehook(self._undoes(self._layer))
                waiting += [before for before, _ in node.next_functions]

    def _undoes(self, layer: str) -> Callable[[Any], None]:
        def hook(gradients: Any) -> None:
            self._layer = layer

        return hook

    def _unscales(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        found = [gradient for gradient in gradients if gradient is not None]
        moved = 2 * sum(g.numel() * g.element_size() for g in found)
        self.kernels.append(Kernel("unscale", "optimizer", "unscale", "other", 0, moved))
