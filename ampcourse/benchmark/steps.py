"""A training step as a recipe wants it, ready to be repeated and timed.

What a recipe sets for the whole process (TF32, the functions that O1 patches) holds within
`Step.active()` alone, so that recipes can take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.amp.grad_scaler import GradScaler
from ampcourse.benchmark.levels import Level
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.models import checkpointed
from ampcourse.benchmark.recipes import Recipe

MakeOptimizer = Callable[[Iterable[torch.Tensor]], torch.optim.Optimizer]


class Step:
    """A model, its optimizer and its loss scale under one recipe; `prepare` makes it.

    `steps` counts the calls of `step`, `skipped` those in which the loss scale was too large and
    the optimizer did nothing.
    """

    def __init__(
        self,
        recipe: Recipe,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        machine: Machine,
        level: Level | None,
    ) -> None:
        self.recipe, self.model, self.optimizer, self.machine = recipe, model, optimizer, machine
        self.scaler: Any = _scaler(recipe, machine)
        self.run: Callable[[torch.Tensor], torch.Tensor] = model
        self.steps = self._taken = 0
        self._level = level
        self._active = False
        optimizer.register_step_post_hook(self._count)

    @property
    def skipped(self) -> int:
        """How many steps were skipped."""
        return self.steps - self._taken

    @property
    def scale(self) -> float | None:
        """The loss scale, or None without one; asking may wait for the device."""
        if self._level is not None:
            return self._level.scale if self.recipe.rule.scaler else None
        return float(self.scaler.get_scale()) if self.scaler is not None else None

    @contextmanager
    def active(self) -> Iterator[Step]:
        """Set what the recipe sets for the whole process, and put it back on leaving."""
        before, machine = self.machine.tf32(), self.machine
        with ExitStack() as stack:
            stack.callback(lambda: machine.set_tf32(**before))
            machine.set_tf32(**tf32_of(self.recipe, machine))
            if self._level is not None:
                stack.enter_context(self._level.in_force())
            self._active = True
            stack.callback(self._deactivate)
            yield self

    def place(self, images: torch.Tensor) -> torch.Tensor:
        """Return images in the recipe's layout and type."""
        return place(images, self.recipe)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the model's output in FP32, computed as the recipe does."""
        self._check_active()
        with self._autocast():
            return self.run(images).float()

    def step(
        self,
        images: torch.Tensor,
        labels: torch.Tensor,
        between: Callable[[], None] | None = None,
    ) -> torch.Tensor:
        """Take one training step and return the loss, without waiting for it.

        `between` is called when the backward pass has been issued and before anything waits for
        it. Raises RuntimeError outside of `active`.
        """
        self._check_active()
        self.steps += 1
        self.optimizer.zero_grad(set_to_none=True)
        with self._autocast():
            loss = F.cross_entropy(self.run(images).float(), labels)
        if self._level is not None:
            with self._level.scale_loss(loss) as scaled:
                scaled.backward()
                _call(between)
            self.optimizer.step()
            return loss.detach()
        if self.scaler is None:
            loss.backward()
            _call(between)
            self.optimizer.step()
            return loss.detach()
        self.scaler.scale(loss).backward()
        _call(between)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on later: model, optimizer, loss scale and counts.

        The tensors are those in use, as in torch's own state_dicts: save or copy them at once.
        """
        scale = self._level.state_dict() if self._level is not None else None
        if self.scaler is not None:
            scale = self.scaler.state_dict()
        return {
            "recipe": self.recipe.name,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scale": scale,
            "counts": (self.steps, self._taken),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state_dict; ValueError if it is another recipe's."""
        if state["recipe"] != self.recipe.name:
            raise ValueError(f"the state is one of {state['recipe']}, this is {self.recipe.name}")
        self.model.load_state_dict(state["model"])
        if self._level is not None:
            self._level.make_ready()
        self.optimizer.load_state_dict(state["optimizer"])
        if self._level is not None:
            self._level.load_state_dict(state["scale"])
        elif self.scaler is not None:
            self.scaler.load_state_dict(state["scale"])
        self.steps, self._taken = state["counts"]

    def _autocast(self) -> torch.autocast:
        name = self.recipe.rule.autocast
        dtype = getattr(torch, name) if name else None
        return torch.autocast(self.machine.device.type, dtype, enabled=bool(name))

    def _count(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self._taken += 1

    def _check_active(self) -> None:
        if not self._active:
            raise RuntimeError(
                f"{self.recipe}: its TF32 setting is not in force; write with step.active(): ..."
            )

    def _deactivate(self) -> None:
        self._active = False


def prepare(
    recipe: Recipe,
    model: nn.Module,
    make_optimizer: MakeOptimizer,
    machine: Machine,
    wrap: Callable[[nn.Module], nn.Module] | None = None,
) -> Step:
    """Return a Step of `model`, which is moved, laid out, cast and compiled as the recipe wants.

    `make_optimizer` makes an optimizer of parameters. `wrap` puts the model into another, as DDP,
    after all of that but the compiling. Compiling happens at the first step.
    """
    model = machine.to(model)
    if recipe.layout == "NHWC":
        model = model.to(memory_format=torch.channels_last)
    if recipe.checkpointing:
        model = checkpointed(model)
    if recipe.base == "fp16":
        model = model.half()
    optimizer = make_optimizer(model.parameters())
    level = Level(recipe.rule.level, model, optimizer) if recipe.rule.level else None
    if wrap is not None:
        model = wrap(model)
    step = Step(recipe, model, optimizer, machine, level)
    if recipe.compiled:
        step.run = compiled(model)
    return step


def compiled(model: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a model that torch.compile compiles at its first call, for fixed shapes.

    Past its limit of versions torch would go on uncompiled without a word; here it raises.
    """
    import torch._dynamo.config as config

    for name, value in (("recompile_limit", 64), ("fail_on_recompile_limit_hit", True)):
        if hasattr(config, name):
            setattr(config, name, value)
    found: Callable[[torch.Tensor], torch.Tensor] = torch.compile(model, dynamic=False)
    return found


def place(images: torch.Tensor, recipe: Recipe) -> torch.Tensor:
    """Return images in a recipe's layout and type."""
    if recipe.base == "fp16":
        images = images.half()
    return channels_last(images) if recipe.layout == "NHWC" else images.contiguous()


def channels_last(images: torch.Tensor) -> torch.Tensor:
    """Return images with channels last, also where one channel makes both layouts look alike.

    Strides decide which layout a convolution writes, and `to(memory_format=...)` leaves those of
    a single channel as they were.
    """
    images = images.contiguous(memory_format=torch.channels_last)
    n, c, h, w = images.shape
    return images.as_strided((n, c, h, w), (h * w * c, 1, w * c, c))


def _scaler(recipe: Recipe, machine: Machine) -> Any:
    if recipe.rule.scaler == "torch":
        return torch.amp.GradScaler(machine.device.type)
    return GradScaler(machine.device.type) if recipe.rule.scaler == "ours" else None


def tf32_of(recipe: Recipe, machine: Machine) -> dict[str, str]:
    """Return how FP32 matrix products and convolutions are computed while a recipe is active."""
    if recipe.rule.tf32 == "default":
        return machine.default_tf32
    return {"matmul": recipe.rule.tf32, "conv": recipe.rule.tf32}


def _call(between: Callable[[], None] | None) -> None:
    if between is not None:
        between()
