"""The methods of GradScalers, wrapped for as long as we watch: what each call leads to."""

from __future__ import annotations

from typing import Any

import torch

from ampcourse.diagnose.nonfinite import NonFinite
from ampcourse.diagnose.op_watch import OpWatch
from ampcourse.diagnose.patches import Patches, scaler_classes
from ampcourse.diagnose.scaler_calls import ScalerCalls
from ampcourse.diagnose.steps import Steps


class ScalerEvents:
    """Tells the rules about each call of an enabled scaler, and keeps its ops out of sight."""

    def __init__(
        self, scalers: ScalerCalls, steps: Steps, nonfinite: NonFinite, ops: OpWatch
    ) -> None:
        self._scalers = scalers
        self._steps = steps
        self._nonfinite = nonfinite
        self._ops = ops

    def install(self, patches: Patches) -> None:
        """Wrap the methods."""
        for cls in scaler_classes():
            patches.wrap(cls, "scale", self._scale)
            patches.wrap(cls, "unscale_", self._unscale)
            patches.wrap(cls, "step", self._step)
            patches.wrap(cls, "update", self._update)
            patches.wrap(cls, "load_state_dict", self._load)

    def _scale(self, original: Any, scaler: Any, outputs: Any) -> Any:
        if not scaler.is_enabled() or self._nonfinite.scaling:
            return original(scaler, outputs)
        if not isinstance(outputs, torch.Tensor | list | tuple):
            outputs = list(outputs)
        self._nonfinite.scaling = True
        try:
            scaled = original(scaler, outputs)
        finally:
            self._nonfinite.scaling = False
        with self._ops.aside():
            self._scalers.scaled(scaler, outputs, scaled)
        return scaled

    def _unscale(self, original: Any, scaler: Any, optimizer: Any) -> None:
        if not scaler.is_enabled():
            return original(scaler, optimizer)
        with self._ops.aside():
            self._scalers.before_unscale(scaler, optimizer)
            original(scaler, optimizer)
            self._scalers.after_unscale(optimizer)

    def _step(self, original: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if not scaler.is_enabled():
            return original(scaler, optimizer, *args, **kwargs)
        self._scalers.before_step(scaler, optimizer)
        done = self._steps.of(optimizer).done
        try:
            with self._ops.aside():
                result = original(scaler, optimizer, *args, **kwargs)
        finally:
            self._scalers.after_step(scaler, optimizer)
        if self._steps.of(optimizer).done == done:
            self._steps.skipped_step(optimizer)
        return result

    def _update(self, original: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        if not scaler.is_enabled():
            return original(scaler, *args, **kwargs)
        self._scalers.before_update(scaler)
        with self._ops.aside():
            before = scaler.get_scale()
            original(scaler, *args, **kwargs)
        by_hand = any(value is not None for value in (*args, *kwargs.values()))
        self._scalers.after_update(scaler, before, by_hand)

    def _load(self, original: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        original(scaler, *args, **kwargs)
        self._scalers.of(scaler).loaded = True
