"""Gradient penalties: gradients of a scaled loss must be unscaled before they are used."""

from __future__ import annotations

from typing import Any

import torch

from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.gradient_state import Scaling
from ampcourse.diagnose.op import Op

_PRODUCTS = {"mul", "mul_", "div", "div_", "_foreach_mul", "_foreach_div", "_foreach_mul_"}


class Penalties:
    """Remembers gradients taken of a scaled loss until something divides by the scale."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._pending: Scaling | None = None
        self._line = ""

    def differentiated(self, scaling: Scaling | None, line: str) -> None:
        """Note a call of autograd.grad with create_graph=True."""
        if scaling is not None and scaling.scale != 1:
            self._pending, self._line = scaling, line

    def note(self, op: Op) -> None:
        """Look whether an op divides by the scale, or multiplies by its inverse."""
        if self._pending is None or op.name not in _PRODUCTS or len(op.args) < 2:
            return
        scale = self._pending.scale
        if _number(op.args[1]) in (scale, 1 / scale):
            self._pending = None

    def before_backward(self, line: str) -> None:
        """Judge: a loss is about to be differentiated, with nothing divided since."""
        if self._pending is not None:
            self._findings.add(
                "scaled_penalty",
                self._line,
                f"The gradients taken at {self._line} are multiplied by {self._pending.scale:g}, "
                f"and nothing divided them before backward at {line}.",
            )
        self._pending = None


def _number(value: Any) -> float | None:
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else None
    return float(value) if isinstance(value, int | float) else None
