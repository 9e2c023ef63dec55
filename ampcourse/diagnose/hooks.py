"""Hooks on every module and every optimizer, for as long as we watch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks

from ampcourse.diagnose.causes import Causes
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.op_watch import OpWatch
from ampcourse.diagnose.patches import Patches
from ampcourse.diagnose.scaler_calls import ScalerCalls, parameters_of
from ampcourse.diagnose.steps import Steps


class Hooks:
    """Follows which module is running, and tells the rules about optimizer steps."""

    def __init__(
        self, names: Names, causes: Causes, steps: Steps, scalers: ScalerCalls, ops: OpWatch
    ) -> None:
        self._names = names
        self._causes = causes
        self._steps = steps
        self._scalers = scalers
        self._ops = ops
        self._running = ops.running

    def install(self, patches: Patches) -> None:
        """Put the hooks in place."""
        self._hook_modules(patches)
        self._hook_optimizers(patches)

    def check(self, model: nn.Module) -> None:
        """Look whether a model is sound before its first use."""
        with self._ops.aside():
            self._causes.check_parameters(model)

    def _hook_modules(self, patches: Patches) -> None:
        def enter(module: nn.Module, _: Any) -> None:
            if not self._running and not self._names.knows(module):
                self.check(self._names.add_model_of(module))
            path, kind = self._names.of_module(module), type(module).__name__
            self._running.append((path, kind, torch.is_grad_enabled()))

        def leave(module: nn.Module, _: Any, output: Any) -> None:
            if self._running:
                self._running.pop()
            if not self._running:
                with self._ops.aside():
                    self._causes.output(output)

        def build(original: Any, module: nn.Module, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            self._names.born(module)

        patches.wrap(nn.Module, "__init__", build)
        entered = module_hooks.register_module_forward_pre_hook(enter)
        left = module_hooks.register_module_forward_hook(leave, always_call=True)
        patches.on_undo(entered.remove)
        patches.on_undo(left.remove)

    def _hook_optimizers(self, patches: Patches) -> None:
        def before(optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            with self._ops.aside():
                self._causes.used(parameters_of(optimizer))
                self._steps.before_step(optimizer, self._scalers.stepping(), _closure(args, kwargs))
            self._ops.paused = self._ops.paused or not _closure(args, kwargs)

        def after(optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self._ops.paused = self._scalers.stepping()
            found_inf = getattr(optimizer, "found_inf", None)  # a fused one skips by itself
            if found_inf is not None and bool(found_inf):
                return
            with self._ops.aside():
                self._steps.after_step(optimizer, _closure(args, kwargs))

        def build(original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._steps.built(optimizer)

        def load(original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._scalers.loaded_optimizers.add(optimizer)

        patches.on_undo(optimizer_hooks.register_optimizer_step_pre_hook(before).remove)
        patches.on_undo(optimizer_hooks.register_optimizer_step_post_hook(after).remove)
        patches.wrap(torch.optim.Optimizer, "__init__", build)
        patches.wrap(torch.optim.Optimizer, "load_state_dict", load)


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an optimizer's step was given a closure; args begin with the optimizer."""
    return kwargs.get("closure") is not None or (len(args) > 1 and callable(args[1]))
