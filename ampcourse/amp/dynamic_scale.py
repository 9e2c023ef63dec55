"""A dynamic loss scale with its options: set up, read, changed, saved and resumed.

The part of a GradScaler that has nothing to do with gradients; what it does in a training step
is in `grad_scaler`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch

from ampcourse.amp.loss_scale import LossScale, to_float32

_ENTRIES = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


class DynamicScale:
    """The state and the options of a GradScaler, under torch.amp.GradScaler's names.

    `device` is the type of device that is trained on, "cuda" or "cpu"; "cuda" without CUDA warns
    and disables. Raises AssertionError unless growth_factor > 1 and backoff_factor < 1, as torch
    does, and ValueError, where torch does not look, unless init_scale and backoff_factor are
    positive and init_scale fits a float32. Options of a disabled scaler are not checked.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn(
                'GradScaler("cuda") is enabled, but CUDA is not available.  Disabling.',
                stacklevel=3,
            )
            self._enabled = False
        if self._enabled:
            check_options(init_scale, growth_factor, backoff_factor)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._state = LossScale(init_scale)
        # Where the first scaled tensor lay; None until scale() has been called.
        self._home: torch.device | None = None

    def get_scale(self) -> float:
        """Return the scale, 1.0 if disabled."""
        return self._state.scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return what the scale is multiplied by after growth_interval good steps in a row."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after growth_interval good steps in a row."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return what the scale is multiplied by after a step that overflowed."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after a step that overflowed."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return how many good steps in a row it takes for the scale to grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many good steps in a row it takes for the scale to grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return whether this scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training needs, under torch's names; empty if disabled.

        The growth tracker belongs to it: without it, the scale would grow later than it should.
        """
        if not self._enabled:
            return {}
        options = self._growth_factor, self._backoff_factor, self._growth_interval
        values = self._state.scale, *options, self._state.growth_tracker
        return dict(zip(_ENTRIES, values, strict=True))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state_dict, ours or torch's; does nothing if disabled.

        Raises RuntimeError for an empty one, KeyError for one that lacks an entry; the scaler
        is then as it was.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        # Read everything before anything changes, so that a missing entry leaves all as it was.
        scale, growth_factor, backoff_factor, growth_interval, tracker = (
            state_dict[name] for name in _ENTRIES
        )
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._state = LossScale(scale if self._home is None else to_float32(scale), tracker)


def check_options(init_scale: float, growth_factor: float, backoff_factor: float) -> None:
    """Raise AssertionError or ValueError for options that cannot work, as DynamicScale says."""
    if not growth_factor > 1.0:
        raise AssertionError(f"The growth factor must be > 1.0, not {growth_factor}.")
    if not backoff_factor < 1.0:
        raise AssertionError(f"The backoff factor must be < 1.0, not {backoff_factor}.")
    if backoff_factor <= 0:
        raise ValueError(f"backoff_factor = {backoff_factor} must lie between 0 and 1")
    check_scale(init_scale, "init_scale")


def check_scale(scale: float, name: str) -> None:
    """Raise ValueError unless the number is a possible loss scale; the name is for the message."""
    if not 0 < to_float32(scale) < math.inf:
        raise ValueError(
            f"{name} = {scale} must be a positive number that float32 can hold; a power of two, "
            "such as 2.0**16, scales without rounding"
        )
