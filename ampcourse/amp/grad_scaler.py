"""A GradScaler to be read: torch.amp.GradScaler's methods around the pure rule in `loss_scale`.

It differs from torch's in one decision. There, scale and found_inf stay on the device, so that
the host waits only in `step`. Here `unscale_` waits, once, and from then on everything is plain
Python: whether to skip a step is an `if`, and the next scale is one call of the rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch

from ampcourse.amp import loss_scale
from ampcourse.amp.dynamic_scale import DynamicScale, check_scale
from ampcourse.amp.loss_scale import LossScale, to_float32
from ampcourse.amp.unscaling import any_nonfinite, gradients_by_device, inverse_of, unscale_


class Stage(Enum):
    """How far an optimizer has come since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


@dataclass
class _Progress:
    stage: Stage = Stage.READY
    found_inf: dict[torch.device, bool] = field(default_factory=dict)


class GradScaler(DynamicScale):
    """Scale a loss, unscale its gradients, skip steps that overflowed, and adapt the scale.

    Takes the place of torch.amp.GradScaler in a training loop; state_dicts can be exchanged. The
    options and their errors are DynamicScale's. With enabled=False `scale` returns its argument,
    `step` steps, and the rest does nothing.

    Not supported is torch's older contract for optimizers whose `step` takes `grad_scaler=`.
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
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        self._progress: dict[int, _Progress] = {}

    def scale(self, outputs: Any) -> Any:
        """Return a tensor times the scale; of a list, tuple or other iterable, each tensor.

        Lists and tuples may be nested and keep their type; other iterables become iterators.
        Raises ValueError for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._home is None:
                self._home = outputs.device
                self._state = LossScale(to_float32(self._state.scale), self._state.growth_tracker)
            return outputs * self._scale_on(outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError(
                f"outputs must be a Tensor or an iterable of Tensors, not {type(outputs).__name__}"
            )
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimizer's gradients by the scale and note whether one was inf or NaN.

        `step` does this itself. Call it where gradients are read or changed in between, as in
        clipping, once all of them are there. Raises RuntimeError if called twice, or after
        step(), since the last update(), and ValueError for FP16 gradients.
        """
        if not self._enabled:
            return
        self._check_scaled("unscale_")
        progress = self._progress_of(optimizer)
        if progress.stage is Stage.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if progress.stage is Stage.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = inverse_of(self._state.scale)
        progress.found_inf = {
            device: unscale_(gradients, inverse)
            for device, gradients in gradients_by_device(optimizer).items()
        }
        progress.stage = Stage.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale unless that is done, and call optimizer.step() if no gradient is inf or NaN.

        Returns what optimizer.step(*args, **kwargs) returns, None for a skipped step. A step is
        skipped for all of the optimizer's parameters. Raises RuntimeError if called twice since
        the last update() or with a closure, AssertionError if no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or (args and callable(args[0])):
            # It would compute new gradients, scaled ones, behind the scaler's back.
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scaled("step")
        progress = self._progress_of(optimizer)
        if progress.stage is Stage.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_skips_itself(optimizer, progress, *args, **kwargs)
        else:
            if progress.stage is Stage.READY:
                self.unscale_(optimizer)
            if not progress.found_inf:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            overflowed = any(progress.found_inf.values())
            result = None if overflowed else optimizer.step(*args, **kwargs)
        progress.stage = Stage.STEPPED
        return result

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Move the scale by the rule, or to `new_scale`, and forget this step's found_infs.

        Call it once at the end of a step, after `step` for all optimizers; one overflow among
        them makes the scale back off. A new scale is a number or a tensor of one element on
        the scaler's type of device without requires_grad, and leaves the growth tracker alone.
        Raises AssertionError if no gradient was checked since the last update().
        """
        if not self._enabled:
            return
        self._check_scaled("update")
        if new_scale is not None:
            self._state = LossScale(self._read_scale(new_scale), self._state.growth_tracker)
        else:
            found_infs = [
                found_inf
                for progress in self._progress.values()
                for found_inf in progress.found_inf.values()
            ]
            if not found_infs:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._state = loss_scale.update(
                self._state,
                any(found_infs),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._progress = {}

    def __getstate__(self) -> dict[str, Any]:
        if self._enabled and self._progress:
            raise AssertionError(
                "A GradScaler instance may only be pickled at the beginning of an iteration, or "
                "at the end after scaler.update()."
            )
        return {**self.__dict__, "_home": None}  # the copy may live where this device is not

    def _step_that_skips_itself(
        self, optimizer: Any, progress: _Progress, *args: Any, **kwargs: Any
    ) -> Any:
        """Let a fused optimizer unscale and skip within its kernel; here gradients are checked."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            raise NotImplementedError(
                f"{type(optimizer).__name__}.step takes grad_scaler=, torch's older contract for "
                "optimizers; this GradScaler knows the newer one, in which step() reads "
                "self.grad_scale and self.found_inf"
            )
        grad_scale = getattr(optimizer, "grad_scale", None)
        if progress.stage is Stage.READY:
            progress.found_inf = {
                device: any_nonfinite(gradients)
                for device, gradients in gradients_by_device(optimizer, allow_fp16=True).items()
            }
            scale = self._scale_on(self._home)
            grad_scale = scale if grad_scale is None else scale * grad_scale
        overflowed = any(progress.found_inf.values())
        optimizer.grad_scale = grad_scale
        optimizer.found_inf = torch.full((), float(overflowed), device=self._home)
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def _scale_on(self, device: torch.device | None) -> torch.Tensor:
        return torch.full((), self._state.scale, dtype=torch.float32, device=device)

    def _progress_of(self, optimizer: Any) -> _Progress:
        return self._progress.setdefault(id(optimizer), _Progress())

    def _check_scaled(self, name: str) -> None:
        if self._home is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def _read_scale(self, new_scale: float | torch.Tensor) -> float:
        if isinstance(new_scale, torch.Tensor):
            right_place = new_scale.device.type == self._device
            if not right_place or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(
                    f"new_scale should be a float or a 1-element tensor on {self._device} with "
                    f"requires_grad=False, not {new_scale!r}"
                )
        check_scale(float(new_scale), "new_scale")
        return to_float32(float(new_scale))
