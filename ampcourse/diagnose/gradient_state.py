"""What is in each parameter's .grad: which backward passes, scaled by what, unscaled or not."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from ampcourse.diagnose.numbers_seen import stored

# Where a scaled loss is marked, in its autograd node, so that what is computed from it is known.
_MARK = "ampcourse.diagnose"
# How many nodes behind a loss are searched for the mark: loss / n, sums of losses.
_SEARCHED = 200


@dataclass(frozen=True)
class Scaling:
    """The scaler that scaled a loss, the scale, and how often it had been updated by then."""

    scaler: int
    scale: float
    updates: int


@dataclass
class Gradient:
    """The known history of one .grad since it was last cleared.

    A ``pieces`` entry stands for a backward pass: its Scaling, or None for an unscaled loss.
    ``consumed`` counts those that an optimizer step has used, ``unscaled`` those there at
    unscale_, None if it was not called.
    """

    pieces: list[Scaling | None] = field(default_factory=list)
    consumed: int = 0
    unscaled: int | None = None
    stamp: tuple[int, int] | None = None

    @property
    def scaled(self) -> Scaling | None:
        """The last scaling, if the gradient is scaled and still waits for unscale_."""
        if self.unscaled is not None or not self.pieces:
            return None
        return self.pieces[-1]


class Gradients:
    """The history of the gradient of each parameter; unknown where other code has changed it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], Gradient]] = {}

    def of(self, parameter: torch.Tensor) -> Gradient | None:
        """Return the history of a gradient that nothing unknown has touched."""
        known = self._known.get(id(parameter))
        stamp = _stamp(parameter)
        if known is None or stamp is None or known[0]() is not parameter:
            return None
        return known[1] if known[1].stamp == stamp else None

    def before_backward(self, parameters: Iterable[torch.Tensor]) -> dict[int, Any]:
        """Forget the gradients that were cleared; return what after_backward compares with."""
        for parameter in parameters:
            if self.of(parameter) is None:
                self._known.pop(id(parameter), None)
        return {id(parameter): _stamp(parameter) for parameter in parameters}

    def after_backward(
        self,
        parameters: Iterable[torch.Tensor],
        before: dict[int, Any],
        scaling: Scaling | None,
    ) -> list[torch.Tensor]:
        """Add a piece to each gradient that a backward pass changed; return those parameters."""
        changed = [p for p in parameters if _stamp(p) != before.get(id(p))]
        for parameter in changed:
            _, gradient = self._known.get(id(parameter)) or (None, Gradient())
            gradient.pieces.append(scaling)
            gradient.stamp = _stamp(parameter)
            self._known[id(parameter)] = (weakref.ref(parameter), gradient)
        return changed

    def touched(self, parameters: Iterable[torch.Tensor]) -> None:
        """Accept a change that we know of, such as clipping."""
        for parameter in parameters:
            known = self._known.get(id(parameter))
            if known is not None and parameter.grad is not None:
                known[1].stamp = _stamp(parameter)


def _stamp(parameter: torch.Tensor) -> tuple[int, int] | None:
    grad = parameter.grad
    return None if grad is None else (id(grad), grad._version)


def mark(output: torch.Tensor, scaling: Scaling) -> None:
    """Mark a scaled loss."""
    if output.grad_fn is not None:
        output.grad_fn.metadata[_MARK] = scaling


def scaling_of(roots: Iterable[torch.Tensor]) -> Scaling | None:
    """Return how the losses of a backward pass were scaled, None if they were not."""
    nodes = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen: set[Any] = set()
    while nodes and len(seen) < _SEARCHED:
        node = nodes.pop(0)
        if node in seen:
            continue
        seen.add(node)
        found = node.metadata.get(_MARK)
        if found is not None:
            return found
        nodes += [source for source, _ in node.next_functions if source is not None]
    return None


def norm_of(parameters: Iterable[torch.Tensor]) -> float:
    """Return the 2-norm of all gradients together, in float64."""
    grads = [p.grad for p in parameters]
    squares = [stored(g).double().square().sum() for g in grads if g is not None]
    return float(torch.stack([s.cpu() for s in squares]).sum().sqrt()) if squares else 0.0
