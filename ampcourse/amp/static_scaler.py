"""A loss scale that never moves: what mixed precision started with.

One number, chosen beforehand. Too small, and gradients still vanish; too large, and they become
inf, which nothing here catches. Micikevicius et al. (Mixed Precision Training, ICLR 2018, 3.2)
trained with such scales, between 8 and 32,768.
"""

from __future__ import annotations

from typing import Any

import torch

from ampcourse.amp.dynamic_scale import check_scale
from ampcourse.amp.loss_scale import to_float32
from ampcourse.amp.unscaling import gradients_by_device, inverse_of


class StaticScaler:
    """Multiply a loss by a fixed scale and divide the gradients by it before the step.

    The methods are those of a GradScaler, so that either fits into a training loop, but it never
    skips a step: no gradient is looked at, `step` steps with inf and NaN as well and so hands
    them on to the weights, and `update` changes nothing. Raises ValueError unless the scale is
    positive and a float32 can hold it. A power of two changes no gradient's significand; another
    scale rounds each gradient once more.
    """

    def __init__(self, scale: float) -> None:
        check_scale(scale, "scale")
        self._scale = to_float32(scale)
        self._unscaled: set[int] = set()

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss times the scale; by the chain rule, every gradient gets that factor."""
        return loss * torch.full((), self._scale, dtype=torch.float32, device=loss.device)

    @torch.no_grad()
    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimizer's gradients by the scale, in FP32.

        `step` does this itself. Raises RuntimeError if called twice before a step, ValueError
        for FP16 gradients.
        """
        if id(optimizer) in self._unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer")
        for gradients in gradients_by_device(optimizer).values():
            for gradient in gradients:
                gradient.mul_(inverse_of(self._scale))
        self._unscaled.add(id(optimizer))

    def step(self, optimizer: Any) -> Any:
        """Unscale unless that is done, and step, whatever the gradients are."""
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        self._unscaled.remove(id(optimizer))
        return optimizer.step()

    def update(self) -> None:
        """Do nothing: it stands where a GradScaler's would."""

    def get_scale(self) -> float:
        """Return the scale."""
        return self._scale
