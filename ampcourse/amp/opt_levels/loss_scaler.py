"""Apex's loss scale: the ancestor of GradScaler's rule, with a floor and a ceiling.

The rule is that of apex/amp/scaler.py (NVIDIA/apex, b82c6bd7). It differs from torch's in that
- the scale stops at max_loss_scale, 2^24 unless told otherwise, and at min_loss_scale if given;
- the scale is a Python float and its factor is 2, up and down;
- it moves when the gradients are unscaled, before the step, not in an update() after it;
- with several losses there is one per loss, not one for all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from ampcourse.amp.unscaling import any_nonfinite, inverse_of, unscale_


class LossScaler:
    """A loss scale, fixed or "dynamic", and whether the gradients at hand overflowed.

    A dynamic one starts at init_scale, halves when a gradient is inf or NaN, and doubles after
    scale_window good backward passes in a row. A fixed one looks at no gradient.
    """

    def __init__(
        self,
        loss_scale: float | str,
        init_scale: float = 2.0**16,
        scale_window: int = 2000,
        min_loss_scale: float | None = None,
        max_loss_scale: float = 2.0**24,
    ) -> None:
        self.dynamic = loss_scale == "dynamic"
        self._loss_scale = init_scale if self.dynamic else float(loss_scale)
        self._scale_window = scale_window
        self._min_loss_scale = min_loss_scale
        self._max_loss_scale = max_loss_scale
        self._unskipped = 0
        self._has_overflow = False

    def loss_scale(self) -> float:
        """Return the scale that the next loss is multiplied by."""
        return self._loss_scale

    def clear_overflow_state(self) -> None:
        """Forget what earlier gradients were."""
        self._has_overflow = False

    def unscale(self, gradients: Sequence[torch.Tensor]) -> None:
        """Divide gradients by the scale, in place and in their own type, and note an overflow.

        Every element is looked at, as in Apex's CUDA kernel; its fallback in Python looked at sums.
        """
        by_device = defaultdict(list)
        for gradient in gradients:
            values = gradient._values() if gradient.is_sparse else gradient
            by_device[values.device].append(values)
        for group in by_device.values():
            self._has_overflow |= unscale_(group, inverse_of(self._loss_scale))

    @torch.no_grad()
    def unscale_onto(self, gradient: torch.Tensor, total: torch.Tensor) -> None:
        """Add a gradient, divided by the scale, to those of earlier backward passes."""
        self._has_overflow |= any_nonfinite(
            [gradient._values() if gradient.is_sparse else gradient]
        )
        total.add_(gradient.to(total.dtype), alpha=inverse_of(self._loss_scale))

    def update_scale(self) -> bool:
        """Move the scale by what was noted, and return whether the step is to be skipped."""
        should_skip = self._has_overflow and self.dynamic
        if should_skip:
            # A floor of 0 or None is none.
            self._loss_scale = max(self._min_loss_scale or 0.0, self._loss_scale / 2)
            self._unskipped = 0
        else:
            self._unskipped += 1
        if self.dynamic and self._unskipped == self._scale_window:
            self._loss_scale = min(self._max_loss_scale, self._loss_scale * 2)
            self._unskipped = 0
        return should_skip
