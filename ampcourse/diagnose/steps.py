"""Optimizer steps, clipping, backward calls and schedulers, held against what they should be."""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.gradient_state import Gradients, norm_of
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.numbers_seen import dtype_name, is_nonfinite
from ampcourse.diagnose.op_types import vanishes
from ampcourse.diagnose.place import user_line
from ampcourse.diagnose.scaler_calls import is_waiting, parameters_of

# From this share on, of the updates that are not 0, lost updates are a finding.
_LOST = 0.5
_HALF = (torch.float16, torch.bfloat16)


@dataclass
class _Steps:
    """One optimizer: steps done, steps skipped since its scheduler last moved."""

    done: int = 0
    done_before_schedule: int = 0
    skipped_since_schedule: int = 0
    built_at: str = ""


class Steps:
    """Judges what happens to gradients that are there."""

    def __init__(self, findings: Findings, names: Names, gradients: Gradients) -> None:
        self._findings = findings
        self._names = names
        self._gradients = gradients
        self._optimizers: weakref.WeakKeyDictionary[Any, _Steps] = weakref.WeakKeyDictionary()
        self._before: dict[int, torch.Tensor] = {}
        self.asked = 0
        self.skipped = 0

    def of(self, optimizer: Any) -> _Steps:
        """Return what is known of an optimizer."""
        if optimizer not in self._optimizers:
            self._names.add_optimizer(optimizer)
        return self._optimizers.setdefault(optimizer, _Steps())

    def built(self, optimizer: Any) -> None:
        """Note where an optimizer was made."""
        self.of(optimizer).built_at = user_line()

    def before_step(self, optimizer: Any, by_scaler: bool, closure: bool) -> None:
        """Judge the gradients an optimizer is about to use."""
        self.of(optimizer)
        self._look_at_eps(optimizer)
        self._before = {
            id(p): p.detach().clone()
            for group in optimizer.param_groups
            for p in group["params"]
            if p.dtype in _HALF and p.grad is not None and group.get("lr", 1.0) != 0
        }
        if closure:
            return  # it makes the gradients itself, within the step
        line = user_line()
        for parameter in parameters_of(optimizer):
            gradient = self._gradients.of(parameter)
            own = self._names.of_parameter(parameter)
            if gradient is None:
                continue
            if 0 < gradient.consumed < len(gradient.pieces):
                self._findings.add(
                    "missing_zero_grad",
                    line,
                    f"{own}: the gradient used at {line} still holds what the step before it used "
                    f"({gradient.consumed} of {len(gradient.pieces)} backward passes).",
                )
            elif gradient.unscaled is not None and gradient.unscaled < len(gradient.pieces):
                self._findings.add(
                    "backward_after_unscale",
                    line,
                    f"{own}: a backward pass added to a gradient that was unscaled already.",
                )
            elif is_waiting(gradient) and not by_scaler and gradient.scaled:
                self._findings.add(
                    "scaled_gradients_stepped",
                    line,
                    f"{own}: optimizer.step() at {line} used a gradient that is still multiplied "
                    f"by {gradient.scaled.scale:g}.",
                )
            elif gradient.unscaled is not None and not by_scaler:
                self._findings.add(
                    "step_without_scaler",
                    line,
                    f"{own}: its gradient was unscaled by a scaler, but optimizer.step() at {line} "
                    "is called without it: gradients that are inf or NaN are used as they are.",
                )
            else:
                continue
            return

    def after_step(self, optimizer: Any, closure: bool) -> None:
        """Note that a step was done; look at the parameters it changed."""
        state = self.of(optimizer)
        state.done += 1
        self.asked += 1
        parameters = list(parameters_of(optimizer))
        for parameter in parameters:
            gradient = self._gradients.of(parameter)
            if gradient is not None:
                gradient.consumed = 0 if closure else len(gradient.pieces)
        self._look_at_updates(parameters)
        self._look_for_nonfinite(optimizer, parameters)

    def skipped_step(self, optimizer: Any) -> None:
        """Note that a scaler skipped a step."""
        self.of(optimizer).skipped_since_schedule += 1
        self.asked += 1
        self.skipped += 1
        for parameter in parameters_of(optimizer):
            gradient = self._gradients.of(parameter)
            if gradient is not None:
                gradient.consumed = len(gradient.pieces)

    def scheduled(self, scheduler: Any) -> None:
        """Judge a scheduler's step; its own first one comes before any optimizer step."""
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None:
            return
        state = self.of(optimizer)
        if state.skipped_since_schedule and state.done == state.done_before_schedule:
            line = user_line()
            self._findings.add(
                "scheduler_after_skip",
                line,
                f"{type(scheduler).__name__}.step() at {line} came after "
                f"{state.skipped_since_schedule} skipped steps of its optimizer and no other: the "
                "schedule runs ahead.",
            )
        state.done_before_schedule, state.skipped_since_schedule = state.done, 0

    def clipping(self, parameters: Iterable[torch.Tensor], limit: float, what: str) -> None:
        """Judge a clipping before it is done."""
        waiting = [p for p in parameters if is_waiting(self._gradients.of(p))]
        if not waiting or not math.isfinite(limit):
            return
        gradient = self._gradients.of(waiting[0])
        scaling = gradient.scaled if gradient else None
        if scaling is None or scaling.scale <= 1 or limit >= scaling.scale:
            return  # a limit as large as the scale was multiplied by it
        line, norm = user_line(), norm_of(waiting)
        text = f"{what} at {line} clipped {len(waiting)} gradients that are still multiplied by "
        text += f"{scaling.scale:g} to {limit:g}. Their norm is {norm:.4g}, without the scale "
        text += f"{norm / scaling.scale:.4g}"
        if what == "clip_grad_norm_" and norm > limit:
            wanted = min(norm / scaling.scale, limit)
            text += f"; the step comes out {wanted * scaling.scale / limit:.6g} times too small"
        self._findings.add("clip_before_unscale", line, f"{text}.")

    def _look_at_eps(self, optimizer: Any) -> None:
        for group in optimizer.param_groups:
            eps = group.get("eps")
            if not isinstance(eps, float):
                continue
            half = [p for p in group["params"] if vanishes(eps, p.dtype)]
            if half:
                where = self.of(optimizer).built_at or type(optimizer).__name__
                name = self._names.of_parameter(half[0])
                self._findings.add(
                    "vanishing_eps",
                    where,
                    f"{type(optimizer).__name__}'s eps = {eps:g} rounds to 0 in the "
                    f"{dtype_name(half[0].dtype)} of {name} and {len(half) - 1} more parameters: "
                    "a gradient of 0 gives 0/0.",
                )

    def _look_at_updates(self, parameters: list[torch.Tensor]) -> None:
        """Compare 16-bit parameters with what they were."""
        for parameter in parameters:
            old = self._before.get(id(parameter))
            if old is None or parameter.grad is None:
                continue
            meant = parameter.grad != 0
            lost, total = int(((parameter == old) & meant).sum()), int(meant.sum())
            if total and lost / total >= _LOST and not is_nonfinite(parameter):
                name = self._names.of_parameter(parameter)
                self._findings.add(
                    "lost_updates",
                    name,
                    f"{lost} of {total} elements of {name} ({dtype_name(parameter.dtype)}) have a "
                    "gradient that is not 0 and did not change in the step.",
                )
                break
        self._before = {}

    def _look_for_nonfinite(self, optimizer: Any, parameters: list[torch.Tensor]) -> None:
        if self._findings.has(
            "first_nonfinite", "first_nonfinite_gradient", "nonfinite_parameters"
        ):
            return
        for parameter in parameters:
            grad = parameter.grad
            if is_nonfinite(parameter) and (grad is None or not is_nonfinite(grad)):
                name = self._names.of_parameter(parameter)
                self._findings.add(
                    "step_made_nonfinite",
                    name,
                    f"{type(optimizer).__name__}.step() made {name} "
                    f"({dtype_name(parameter.dtype)}) inf or NaN out of a finite gradient.",
                )
                return


def autocast_types() -> list[str]:
    """Return the device types that autocast is on for, torch's or the course's."""
    own = sys.modules.get("ampcourse.amp.autocast")  # if it is not loaded, it is not on
    return [
        kind
        for kind in ("cpu", "cuda")
        if torch.is_autocast_enabled(kind) or (own is not None and own.is_autocast_enabled(kind))
    ]
