"""From a loss, an output or a gradient that is not finite to the cause of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.gradient_state import Scaling
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.nonfinite import NonFinite, Origin
from ampcourse.diagnose.numbers_seen import float_tensors, is_nonfinite, what_is_wrong

_KINDS = {
    "parameter": "nonfinite_parameters",
    "input": "nonfinite_input",
    "op": "first_nonfinite",
    "constant": "first_nonfinite",
}
_MOST_NOTES = 3


class Causes:
    """Decides which inf and NaN matter: those in a loss or a gradient, not those of a mask."""

    def __init__(self, findings: Findings, names: Names, nonfinite: NonFinite) -> None:
        self._findings = findings
        self._names = names
        self._nonfinite = nonfinite
        self._waiting: Origin | None = None
        self._unused: tuple[Origin, str] | None = None
        self._differentiated = False
        self.found = False  # the first cause; what follows is its consequence
        self.notes: list[str] = []

    def check_parameters(self, model: nn.Module) -> None:
        """Look whether a model is damaged before it is used."""
        bad = [(n, p) for n, p in model.named_parameters() if is_nonfinite(p)]
        bad += [
            (n, b)
            for n, b in model.named_buffers()
            if n.endswith(("running_mean", "running_var")) and is_nonfinite(b)
        ]
        if bad and not self.found:
            name, tensor = bad[0]
            others = f", and {len(bad) - 1} more like it," if len(bad) > 1 else ""
            self._report(
                "nonfinite_parameters",
                name,
                f"{name}{others} had {what_is_wrong(tensor)} before the first step watched.",
            )

    def output(self, output: Any) -> None:
        """Look at what a model returned; it counts unless a loss is computed from it."""
        if self.found or self._waiting is not None:
            return
        for tensor in float_tensors(output):
            origin = self._nonfinite.origin_of(tensor)
            if origin is not None and bool(tensor.isnan().any()):
                self._waiting = origin

    def loss(self, roots: list[torch.Tensor], line: str) -> None:
        """Look at the losses of a backward pass before it runs."""
        self._differentiated = True
        for root in roots:
            if self.found or not is_nonfinite(root):
                continue
            origin = self._nonfinite.origin_of(root)
            if origin is None:
                text = f"the loss at {line} is not finite, and no op that we saw made it so."
                self._report("first_nonfinite", line, text)
            elif origin.from_scaling:
                self.note(f"The loss was finite, the scaled loss is not: {origin.text}.")
            else:
                self._report_origin(origin, f"The loss at {line} has {what_is_wrong(root)}.")

    def gradients(self, changed: list[torch.Tensor], scaling: Scaling | None) -> None:
        """Look at the gradients that a backward pass changed."""
        origin = self._nonfinite.first_in_backward
        if origin is None or self.found:
            return
        bad = [p for p in changed if p.grad is not None and is_nonfinite(p.grad)]
        if not bad:
            return
        name = self._names.of_parameter(bad[0])
        seen = f"{len(bad)} of {len(changed)} gradients are not finite, such as that of {name}"
        if origin.in_wider_too:
            self._report_origin(origin, f"{seen}.")
        elif scaling is not None and scaling.scale > 1:
            text = f"At scale {scaling.scale:g} {seen}; first, {origin.text}. The scaler skips"
            self.note(f"{text} such a step and lowers the scale: normal while it is rare.")
        else:
            # Some other loss scaling may be at work: wait whether a step uses these gradients.
            self._unused = origin, f"{seen}."

    def used(self, parameters: Iterable[torch.Tensor]) -> None:
        """Look at the gradients that an optimizer step is about to use."""
        unused, self._unused = self._unused, None
        if unused is None or self.found:
            return
        if any(p.grad is not None and is_nonfinite(p.grad) for p in parameters):
            self._report_origin(*unused)

    def end(self, stepped: bool) -> None:
        """Report what waited: gradients if no step was done at all, NaN that a model returned."""
        if self._unused is not None and not stepped and not self.found:
            self._report_origin(*self._unused)
        if self._waiting is not None and not self._differentiated and not self.found:
            self._report_origin(self._waiting, "The model returned NaN.")

    def _report_origin(self, origin: Origin, consequence: str) -> None:
        kind = _KINDS[origin.source]
        if origin.backward and kind == "first_nonfinite":
            kind = "first_nonfinite_gradient"
        then = f" It became NaN in {origin.became_nan}." if origin.became_nan else ""
        text = origin.text  # an op's name stays as it is
        if origin.source != "op":
            text = text[0].upper() + text[1:]
        where = origin.name or origin.place.where
        self._report(kind, where, f"{text}.{then} {consequence}")

    def _report(self, kind: str, where: str, text: str) -> None:
        self._findings.add(kind, where, text)
        self.found = True
        self._nonfinite.forget()

    def note(self, text: str) -> None:
        """Keep something worth knowing, if there is room for it."""
        if len(self.notes) < _MOST_NOTES and text not in self.notes:
            self.notes.append(text)
