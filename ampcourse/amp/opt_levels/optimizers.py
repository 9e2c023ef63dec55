"""An optimizer as `initialize` leaves it: gradients unscaled apart, master weights, skipped steps.

What is done follows apex/amp/_process_optimizer.py (NVIDIA/apex, f17401fc) and handle.py
(fab319f1). It is the optimizer itself that changes, by methods set on it, so that schedulers and
checkpoints go on working.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch

from ampcourse.amp.opt_levels.casts import Casts
from ampcourse.amp.opt_levels.loss_scaler import LossScaler
from ampcourse.amp.opt_levels.state import say


@dataclass(eq=False)
class _Plain:
    """A parameter that the optimizer steps as it is, and its gradient put aside."""

    param: torch.Tensor
    stashed: torch.Tensor | None = None


@dataclass(eq=False)
class _Pair:
    """An FP16 parameter of the model and its FP32 master, which the optimizer steps."""

    param: torch.Tensor
    master: torch.Tensor


class OptimizerState:
    """What amp knows of an optimizer.

    Masters are made at the first backward pass or zero_grad, not at once, so that a checkpoint
    can be loaded into the model between `initialize` and training.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, master_weights: bool) -> None:
        self.optimizer = optimizer
        self.master_weights = master_weights
        self.params_have_scaled_gradients = False
        self.skips = False
        self._ready = False
        self._plain: list[_Plain] = []
        self._pairs: list[_Pair] = []

    def make_ready(self) -> None:
        """Make the masters, unless that is done; state that the optimizer has becomes FP32."""
        if self._ready:
            return
        self._ready = True
        for group in self.optimizer.param_groups:
            self.take_in(group)
        if self.master_weights:
            for plain in self._plain:
                plain.param.grad = None
            self.optimizer.load_state_dict(self.optimizer.state_dict())

    def take_in(self, group: dict[str, Any]) -> None:
        """Sort a group's parameters, and put masters in the place of FP16 ones.

        Raises TypeError for a parameter that is neither FP32 nor FP16.
        """
        for index, param in enumerate(group["params"]):
            if param.dtype not in (torch.float32, torch.float16):
                raise TypeError(
                    f"the optimizer has a parameter of type {param.dtype}; amp knows float32 and "
                    "float16, and no bfloat16: for that, use torch.autocast"
                )
            if not (self.master_weights and param.dtype == torch.float16):
                self._plain.append(_Plain(param))
            elif param.requires_grad:
                master = torch.nn.Parameter(param.detach().float())
                group["params"][index] = master
                if param in self.optimizer.state:
                    self.optimizer.state[master] = self.optimizer.state.pop(param)
                self._pairs.append(_Pair(param, master))

    def prepare_backward(self) -> None:
        """Put gradients of earlier passes aside: those that come will be scaled, they are not.

        Unless they are: after delay_unscale, old and new are unscaled together.
        """
        self.make_ready()
        if self.params_have_scaled_gradients:
            return
        for pair in self._pairs:
            pair.param.grad = None
        for plain in self._plain:
            plain.stashed, plain.param.grad = plain.param.grad, None

    def finish_backward(self, scaler: LossScaler) -> None:
        """Unscale the new gradients and add them to those put aside, or to the masters'."""
        self.make_ready()
        fresh = []
        for pair in self._pairs:
            gradient, total = pair.param.grad, pair.master.grad
            if gradient is not None and total is not None:
                scaler.unscale_onto(gradient, total)
            elif gradient is not None:
                pair.master.grad = gradient.float()
                fresh.append(pair.master.grad)
        for plain in self._plain:
            gradient, total, plain.stashed = plain.param.grad, plain.stashed, None
            if gradient is not None and total is not None:
                scaler.unscale_onto(gradient, total)
            elif gradient is not None:
                fresh.append(gradient)
            plain.param.grad = gradient if total is None else total
        scaler.unscale(fresh)

    def abandon_backward(self) -> None:
        """Take back the gradients put aside: the backward pass raised an error."""
        for plain in self._plain if not self.params_have_scaled_gradients else []:
            plain.param.grad, plain.stashed = plain.stashed, None

    def zero(self, set_to_none: bool) -> None:
        """Zero the model's gradients, and forget the masters'."""
        self.make_ready()
        for param in [*(pair.param for pair in self._pairs), *(p.param for p in self._plain)]:
            if set_to_none:
                param.grad = None
            elif param.grad is not None:
                param.grad.detach_().zero_()
        self.forget_master_gradients()

    def forget_master_gradients(self) -> None:
        """Drop the masters' gradients, which the model's zero_grad does not reach."""
        for pair in self._pairs:
            pair.master.grad = None

    @torch.no_grad()
    def copy_to_model(self) -> None:
        """Round the masters into the model."""
        for pair in self._pairs:
            pair.param.copy_(pair.master)


def state_of(optimizer: Any) -> OptimizerState:
    """Return what amp knows of an optimizer; RuntimeError if `initialize` has not seen it."""
    state = getattr(optimizer, "_amp_stash", None)
    if state is None:
        raise RuntimeError(
            f"this {type(optimizer).__name__} has not been through amp.initialize; pass it with "
            "the model: model, optimizer = amp.initialize(model, optimizer, opt_level=...)"
        )
    known: OptimizerState = state
    return known


def check_new(optimizer: torch.optim.Optimizer) -> None:
    """Raise RuntimeError if an optimizer has been through `initialize` before."""
    if hasattr(optimizer, "_amp_stash"):
        raise RuntimeError(
            f"this {type(optimizer).__name__} has been through amp.initialize before; make a new "
            "optimizer over the model's parameters"
        )


def process(optimizer: torch.optim.Optimizer, master_weights: bool) -> None:
    """Teach an optimizer about loss scales, and about master weights if it is to have them."""
    state = optimizer._amp_stash = OptimizerState(optimizer, master_weights)
    _patch_add_param_group(optimizer, state)
    if master_weights:
        _patch_step(optimizer, state)
        _patch_zero_grad(optimizer, state)


def disable_casts_in_step(optimizer: torch.optim.Optimizer, casts: Casts) -> None:
    """Let the optimizer's step run on the types it gets, which are FP32."""
    step = optimizer.step

    def uncast_step(self: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
        with casts.disabled():
            return step(*args, **kwargs)

    # A bound method, not a function as in Apex: torch's schedulers ask for its __func__.
    optimizer.step = MethodType(uncast_step, optimizer)


def skip_next_step(optimizer: torch.optim.Optimizer, scaler: LossScaler, loss_id: int) -> None:
    """Let the next call of step change nothing but say so, and the one after step again."""
    state = state_of(optimizer)
    if state.skips:
        return
    state.skips = True
    step = optimizer.step

    def skip(self: torch.optim.Optimizer, closure: Callable[[], Any] | None = None) -> None:
        _refuse_closure(closure)
        # The wording is Apex's: people search logs for it.
        say(
            f"Gradient overflow.  Skipping step, loss scaler {loss_id} reducing loss scale to "
            f"{scaler.loss_scale()}"
        )
        state.forget_master_gradients()
        optimizer.step = step
        state.skips = False

    optimizer.step = MethodType(skip, optimizer)


def _patch_step(optimizer: torch.optim.Optimizer, state: OptimizerState) -> None:
    step = optimizer.step

    def step_masters(self: torch.optim.Optimizer, closure: Callable[[], Any] | None = None) -> Any:
        _refuse_closure(closure)
        state.make_ready()
        result = step()
        state.copy_to_model()
        state.forget_master_gradients()
        return result

    optimizer.step = MethodType(step_masters, optimizer)


def _patch_zero_grad(optimizer: torch.optim.Optimizer, state: OptimizerState) -> None:
    def zero_grad(self: torch.optim.Optimizer, set_to_none: bool = False) -> None:
        state.zero(set_to_none)

    optimizer.zero_grad = MethodType(zero_grad, optimizer)


def _patch_add_param_group(optimizer: torch.optim.Optimizer, state: OptimizerState) -> None:
    add = optimizer.add_param_group

    def add_param_group(self: torch.optim.Optimizer, group: dict[str, Any]) -> None:
        state.make_ready()
        add(group)
        state.take_in(optimizer.param_groups[-1])

    optimizer.add_param_group = MethodType(add_param_group, optimizer)


def _refuse_closure(closure: Callable[[], Any] | None) -> None:
    if closure is not None:
        raise RuntimeError(
            "amp steps without closures, so LBFGS and its like do not go with it; compute the "
            "loss and its gradients before step()"
        )
