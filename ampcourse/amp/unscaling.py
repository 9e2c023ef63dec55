"""Gradients divided by the loss scale, and the question whether one of them is inf or NaN."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from ampcourse.amp.loss_scale import to_float32


def inverse_of(scale: float) -> float:
    """Return 1 / scale rounded to float32, which is what gradients are multiplied by.

    The division is done in float64 first, as in torch. Only a scale that is a power of two has
    an exact inverse; the inverse of 0 is inf.
    """
    return to_float32(1.0 / scale) if scale else float("inf")


def gradients_by_device(
    optimizer: Any, allow_fp16: bool = False
) -> dict[torch.device, list[torch.Tensor]]:
    """Return an optimizer's gradients per device, ready to be changed in place.

    A sparse gradient is represented by its values, and parameters without gradient are left
    out. An optimizer with a method `collect_gradients` (such as MasterWeights) is asked to call
    in its gradients first. Raises ValueError for an FP16 gradient unless they are allowed:
    divided in FP16, what the scale had rescued would be lost again.
    """
    if hasattr(optimizer, "collect_gradients"):
        optimizer.collect_gradients()
    found = defaultdict(list)
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.grad is None:
                continue
            if param.grad.dtype == torch.float16 and not allow_fp16:
                raise ValueError(
                    "Attempting to unscale FP16 gradients. Keep the parameters in FP32 and use "
                    "autocast, or wrap the optimizer in MasterWeights."
                )
            gradient = _values(param) if param.grad.is_sparse else param.grad
            found[gradient.device].append(gradient)
    return dict(found)


def _values(param: torch.Tensor) -> torch.Tensor:
    # An index may occur twice in a sparse gradient, and the sum of its values is what the
    # optimizer adds. In FP16 that sum can overflow, so it has to be formed before the check.
    if param.grad.dtype == torch.float16:
        param.grad = param.grad.coalesce()
    return param.grad._values()


@torch.no_grad()
def unscale_(gradients: Sequence[torch.Tensor], inverse: float) -> bool:
    """Multiply gradients in place; return whether one was inf or NaN before, exactly.

    All on one device. The host waits for the device once, and a second time only where a sum
    is not finite.

    A sum is a cheap first question: if an element is inf or NaN, so is every sum it goes into.
    The reverse does not hold (3e38 + 3e38 is inf in float32), so such a sum leads to a look at
    each element. Summing and multiplying in turn finds a gradient in the cache the second time.
    """
    if inverse > 1:  # An unscaled gradient may overflow where the scaled one had not: look first.
        found_inf = any_nonfinite(gradients)
        for gradient in gradients:
            gradient.mul_(inverse)
        return found_inf
    sums = []
    for gradient in gradients:
        sums.append(_sum(gradient))
        if inverse != 1:
            gradient.mul_(inverse)
    if torch.stack(sums).isfinite().all():
        return False
    return any_nonfinite(gradients)


def any_nonfinite(tensors: Sequence[torch.Tensor]) -> bool:
    """Return whether an element of one of the tensors is inf or NaN, by looking at each."""
    return not torch.stack([tensor.isfinite().all() for tensor in tensors]).all()


def _sum(gradient: torch.Tensor) -> torch.Tensor:
    # FP16 overflows at 65520, which a sum soon reaches; the other types reach to 1e38.
    return gradient.sum(dtype=torch.float32 if gradient.dtype == torch.float16 else None)
