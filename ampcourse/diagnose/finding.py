"""What was found: one record per cause, and the table of kinds with what to do about each."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

#: Kind → (what to do about it, the lesson that explains it).
KINDS = {
    "first_nonfinite": (
        "Look at this place, not at where the NaN came out: keep it in float32, or make its "
        "inputs smaller. A loss scale acts on gradients only and cannot cure a forward pass.",
        "07_autocast",
    ),
    "first_nonfinite_gradient": (
        "The forward pass was finite, so mend the derivative here (sqrt, log or a division at 0; "
        "a constant under the root, a clamp); if float16 overflowed, use a GradScaler or bfloat16.",
        "06_grad_scaler",
    ),
    "nonfinite_input": (
        "The data is at fault, not the precision: check it where it is loaded.",
        "08_training_loops",
    ),
    "nonfinite_parameters": (
        "The damage was done in an earlier step: restart from a checkpoint before it and watch "
        "the step that did it.",
        "08_training_loops",
    ),
    "step_made_nonfinite": (
        "The gradients were finite, so the optimizer's own arithmetic did it: keep parameters in "
        "float32, or choose an eps that the type can hold.",
        "05_loss_scaling",
    ),
    "gradient_underflow": (
        "Scale the loss (GradScaler, or a larger scale), or use bfloat16.",
        "04_gradient_range",
    ),
    "lost_updates": (
        "The update is under half an ulp of the weight: keep float32 (master) weights, as "
        "autocast does, or round stochastically.",
        "02_rounding",
    ),
    "vanishing_eps": (
        "Use an eps that the type can hold (float16: 2^-24, about 6e-8, at the very least), or "
        "compute this in float32.",
        "05_loss_scaling",
    ),
    "half_parameters_under_scaler": (
        "Drop .half() and let autocast choose the types: a GradScaler wants float32 parameters.",
        "06_grad_scaler",
    ),
    "scaler_with_bf16": (
        "bfloat16 has float32's range: remove the scaler, it costs time and may skip steps.",
        "12_bf16_fp8_fp4",
    ),
    "clip_before_unscale": (
        "Call scaler.unscale_(optimizer) after backward and before clipping.",
        "08_training_loops",
    ),
    "backward_under_autocast": (
        "End the autocast block after the loss: backward runs each op in its forward's type.",
        "07_autocast",
    ),
    "scheduler_after_skip": (
        "Step the scheduler only if the optimizer stepped: compare scaler.get_scale() before and "
        "after update().",
        "06_grad_scaler",
    ),
    "repeated_weight_casts": (
        "Open one autocast block around the whole forward pass and leave its cache on.",
        "07_autocast",
    ),
    "unscale_twice": (
        "Call unscale_ once per optimizer and update, after the last micro-batch's backward.",
        "08_training_loops",
    ),
    "unscale_after_step": (
        "step() has unscaled and used these gradients already: call unscale_ (and clip) before it.",
        "08_training_loops",
    ),
    "step_without_scaler": (
        "Call scaler.step(optimizer), which skips the step if a gradient is inf or NaN.",
        "06_grad_scaler",
    ),
    "update_twice": (
        "Call update() once per iteration, after step() for all optimizers.",
        "06_grad_scaler",
    ),
    "update_missing": (
        "Call scaler.update() once at the end of each iteration.",
        "06_grad_scaler",
    ),
    "update_before_step": (
        "Move update() behind the last step(): gradients must be divided by the scale that they "
        "were multiplied with.",
        "08_training_loops",
    ),
    "scaled_gradients_stepped": (
        "Call scaler.step(optimizer) in place of optimizer.step().",
        "06_grad_scaler",
    ),
    "unscaled_loss_stepped": (
        "Call scaler.scale(loss).backward(): step() divides by the scale whatever was done before.",
        "06_grad_scaler",
    ),
    "mixed_scales": (
        "Scale every loss that adds to these gradients, with the same scaler.",
        "08_training_loops",
    ),
    "backward_after_unscale": (
        "Do all backward passes of an iteration before unscale_.",
        "08_training_loops",
    ),
    "missing_zero_grad": (
        "Call optimizer.zero_grad() once per iteration, before the first backward.",
        "08_training_loops",
    ),
    "no_gradients": (
        "Give the optimizer the parameters of the model that is trained (those it has after "
        ".to(device)), or leave an optimizer without gradients out of this iteration.",
        "08_training_loops",
    ),
    "scaled_evaluation": (
        "Evaluate without the scaler: there is no gradient to scale, and the loss you read is "
        "wrong by the scale.",
        "08_training_loops",
    ),
    "scaled_penalty": (
        "Divide the gradients by scaler.get_scale() before a penalty is computed from them.",
        "08_training_loops",
    ),
    "scale_collapsed": (
        "Something overflows at any scale: find it (a forward inf, a division by 0) in place of "
        "waiting for the scale.",
        "06_grad_scaler",
    ),
    "scaler_not_resumed": (
        "Save scaler.state_dict() with the checkpoint and load it with the rest.",
        "08_training_loops",
    ),
    "dtype_mismatch": (
        "Run the whole forward pass under autocast, or cast at this place; inputs made by hand "
        "and custom ops are not cast for you.",
        "08_training_loops",
    ),
    "unsafe_under_autocast": (
        "Use binary_cross_entropy_with_logits, or compute the loss in float32 outside autocast.",
        "07_autocast",
    ),
    "type_not_implemented": (
        "This device has no kernel for the type: cast to float32 around the op.",
        "07_autocast",
    ),
}


@dataclass(frozen=True)
class Finding:
    """One cause: its kind, the module path or file:line it is at, what was seen, the lesson."""

    kind: str
    where: str
    message: str
    lesson: str

    def __str__(self) -> str:
        body = textwrap.fill(self.message, 92, initial_indent="  ", subsequent_indent="  ")
        return f"{self.kind} at {self.where}\n{body}\n  Lesson {self.lesson}"


class Findings:
    """Findings as they come: one per kind and place, with how often it was seen."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], str] = {}
        self._times: dict[tuple[str, str], int] = {}

    def add(self, kind: str, where: str, seen: str) -> None:
        """Note a finding; the first text for a kind and place stays."""
        self._seen.setdefault((kind, where), seen)
        self._times[kind, where] = self._times.get((kind, where), 0) + 1

    def has(self, *kinds: str) -> bool:
        """Return whether there is a finding of one of these kinds."""
        return any(kind in kinds for kind, _ in self._seen)

    def listed(self) -> tuple[Finding, ...]:
        """Return the findings in the order in which they were first seen."""
        return tuple(self._finding(*key) for key in self._seen)

    def _finding(self, kind: str, where: str) -> Finding:
        advice, lesson = KINDS[kind]
        times = self._times[kind, where]
        again = f" Seen {times} times." if times > 1 else ""
        return Finding(kind, where, f"{self._seen[kind, where]}{again} {advice}", lesson)
