"""The calls of a GradScaler, in the order they come, held against the order they should have."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.gradient_state import Gradient, Gradients, Scaling, mark
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.numbers_seen import float_tensors, listing
from ampcourse.diagnose.place import user_line


@dataclass
class _State:
    """One scaler since its last update()."""

    updates: int = 0
    unscaled: set[int] = field(default_factory=set)
    stepped: set[int] = field(default_factory=set)
    stepping: bool = False
    scaled_once: bool = False
    loaded: bool = False
    last_step_line: str = ""


class ScalerCalls:
    """Judges scale, unscale_, step and update of every enabled scaler."""

    def __init__(
        self,
        findings: Findings,
        names: Names,
        gradients: Gradients,
        only_bfloat16: Callable[[], bool],
    ) -> None:
        self._findings = findings
        self._names = names
        self._gradients = gradients
        self._only_bfloat16 = only_bfloat16
        # Scalers are kept alive: what one has left open is judged at the end.
        self._states: dict[int, tuple[Any, _State]] = {}
        self.loaded_optimizers: weakref.WeakSet[Any] = weakref.WeakSet()

    def of(self, scaler: Any) -> _State:
        """Return what is known of a scaler."""
        return self._states.setdefault(id(scaler), (scaler, _State()))[1]

    def stepping(self) -> bool:
        """Return whether a scaler is in the middle of its step()."""
        return any(state.stepping for _, state in self._states.values())

    def scaled(self, scaler: Any, losses: Any, outputs: Any) -> None:
        """Note that losses were scaled."""
        state, line = self.of(scaler), user_line()
        state.scaled_once = True
        scale = scaler.get_scale()
        for output in float_tensors(outputs):
            mark(output, Scaling(id(scaler), scale, state.updates))
        tensors = list(float_tensors(losses))
        if tensors and not torch.is_grad_enabled():
            self._findings.add(
                "scaled_evaluation",
                line,
                f"scale() at {line} multiplied a loss by {scale:g} under no_grad.",
            )
        if self._only_bfloat16():
            self._findings.add(
                "scaler_with_bf16",
                line,
                f"The loss scaled by {scale:g} at {line} came out of a forward pass in bfloat16 "
                "without a single float16 op.",
            )

    def before_unscale(self, scaler: Any, optimizer: Any) -> None:
        """Judge a call of unscale_, the user's or step's own."""
        state, line = self.of(scaler), user_line()
        half = [p for p in parameters_of(optimizer) if _half_gradient(p)]
        if half:
            shown = listing(self._names.of_parameter(p) or "a parameter" for p in half)
            self._findings.add(
                "half_parameters_under_scaler",
                line,
                f"{len(half)} parameters of {type(optimizer).__name__} are float16 and so are "
                f"their gradients ({shown}); unscale_ refuses to divide those.",
            )
        if id(optimizer) in state.unscaled | state.stepped and not state.stepping:
            name = type(optimizer).__name__
            if id(optimizer) in state.stepped:
                kind, text = "unscale_after_step", f"unscale_({name}) at {line} came after its step"
            else:
                kind, text = "unscale_twice", f"unscale_({name}) was called again at {line}"
                text += " without an update() since, as at every micro-batch"
            self._findings.add(kind, line, f"{text}.")
            return
        state.unscaled.add(id(optimizer))
        self._judge_gradients(scaler, optimizer, line)

    def after_unscale(self, optimizer: Any) -> None:
        """Note that an optimizer's gradients are true gradients now."""
        for parameter in parameters_of(optimizer):
            self._gradients.touched([parameter])
            gradient = self._gradients.of(parameter)
            if gradient is not None:
                gradient.unscaled = len(gradient.pieces)

    def before_step(self, scaler: Any, optimizer: Any) -> None:
        """Judge a call of scaler.step."""
        state, line = self.of(scaler), user_line()
        name = type(optimizer).__name__
        if not state.scaled_once and scaler_is_new(scaler):
            self._findings.add(
                "unscaled_loss_stepped",
                line,
                f"scaler.step at {line}, but this scaler has scaled no loss yet.",
            )
        elif all(p.grad is None for p in parameters_of(optimizer)):
            self._findings.add(
                "no_gradients",
                line,
                f"None of the {sum(1 for _ in parameters_of(optimizer))} parameters of {name} has "
                f"a gradient at {line}.",
            )
        if id(optimizer) in state.stepped:
            self._findings.add(
                "update_missing",
                line,
                f"scaler.step({name}) was called again at {line} without an update() since the "
                "last time.",
            )
        if optimizer in self.loaded_optimizers and not state.loaded and state.updates == 0:
            self._findings.add(
                "scaler_not_resumed",
                line,
                f"{name} was loaded from a checkpoint, its scaler was not: it starts again at "
                f"{scaler.get_scale():g}.",
            )
        state.stepping = True
        state.last_step_line = line

    def after_step(self, scaler: Any, optimizer: Any) -> None:
        """Note the end of scaler.step, however it ended."""
        state = self.of(scaler)
        state.stepping = False
        state.stepped.add(id(optimizer))

    def before_update(self, scaler: Any) -> None:
        """Judge a call of update()."""
        state, line = self.of(scaler), user_line()
        if not state.unscaled and not state.stepped and not _has_checks(scaler):
            again = "again " if state.updates else ""
            self._findings.add(
                "update_twice",
                line,
                f"update() was called {again}at {line} with no step() or unscale_() before it"
                f"{' since the last one' if again else ''}.",
            )

    def after_update(self, scaler: Any, scale_before: float, by_hand: bool) -> None:
        """Note a new scale."""
        state, line, scale = self.of(scaler), user_line(), scaler.get_scale()
        state.updates += 1
        state.unscaled.clear()
        state.stepped.clear()
        if not by_hand and scale < scale_before and scale < 1:
            self._findings.add(
                "scale_collapsed",
                line,
                f"The loss scale has fallen to {scale:g}: gradients were not finite at any scale "
                "before.",
            )

    def end(self) -> None:
        """Judge what is left open at the end."""
        for _, state in self._states.values():
            if state.stepped and not state.stepping:
                self._findings.add(
                    "update_missing",
                    state.last_step_line,
                    f"scaler.step at {state.last_step_line} was not followed by update(): the "
                    "scale stays as it is, and the next step() raises.",
                )

    def _judge_gradients(self, scaler: Any, optimizer: Any, line: str) -> None:
        """Compare how the gradients were scaled with what unscale_ is going to divide by."""
        state, scale = self.of(scaler), scaler.get_scale()
        name = type(optimizer).__name__
        for parameter in parameters_of(optimizer):
            gradient = self._gradients.of(parameter)
            if gradient is None or not gradient.pieces or gradient.consumed:
                continue  # unknown, or reported as not cleared
            used = set(gradient.pieces)
            own = self._names.of_parameter(parameter) or "a parameter"
            if used == {None}:
                text = f"the loss was not scaled, but step() divides by {scale:g}: steps of {name} "
                text += "are that much too small."
                self._findings.add("unscaled_loss_stepped", line, f"{own}: {text}")
            elif None in used:
                text = f"gradients of a scaled ({scale:g}) and of an unscaled loss were added up."
                self._findings.add("mixed_scales", line, f"{own}: {text}")
            elif any(s and s.scaler == id(scaler) and s.updates < state.updates for s in used):
                scales = ", ".join(f"{s.scale:g}" for s in gradient.pieces if s)
                text = f"update() came between backward (scale {scales}) and the step, which "
                text += f"divides by {scale:g}. At this step that is "
                wrong = any(s and s.scale != scale for s in used)
                text += "wrong." if wrong else "the same number, by luck."
                self._findings.add("update_before_step", line, f"{own}: {text}")
            else:
                continue
            return  # the other parameters say the same


def parameters_of(optimizer: Any) -> Iterator[torch.Tensor]:
    """Yield an optimizer's parameters."""
    for group in optimizer.param_groups:
        yield from group["params"]


def is_waiting(gradient: Gradient | None) -> bool:
    """Return whether a gradient is known to be scaled and not unscaled."""
    return gradient is not None and gradient.scaled is not None


def scaler_is_new(scaler: Any) -> bool:
    """Return whether a scaler, torch's or ours, has never scaled anything."""
    return getattr(scaler, "_scale", getattr(scaler, "_home", None)) is None


def _has_checks(scaler: Any) -> bool:
    """Return whether found_infs wait from before we looked."""
    torchs = getattr(scaler, "_per_optimizer_states", None)
    if torchs is not None:
        return any(state["found_inf_per_device"] for state in torchs.values())
    return bool(getattr(scaler, "_progress", None))


def _half_gradient(parameter: torch.Tensor) -> bool:
    return parameter.grad is not None and parameter.grad.dtype is torch.float16
