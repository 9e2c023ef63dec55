"""Gradients divided by the loss scale, and the question whether one of them is inf or NaN."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from ampcourse.amp.loss_scale import to_float32

#: Fewer elements than this are multiplied in less time than the call takes: many in one call.
SMALL = 2**15


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
    is not finite (see any_nonfinite). Multiplying and summing in turn finds a large gradient
    in the cache the second time.
    """
    if inverse > 1:  # A finite gradient may now overflow, which is not the question: look first.
        found_inf = any_nonfinite(gradients)
        for gradient in gradients:
            gradient.mul_(inverse)
        return found_inf
    small = [gradient for gradient in gradients if _is_small(gradient)]
    large = [gradient for gradient in gradients if not _is_small(gradient)]
    if small:
        torch._foreach_mul_(small, inverse)
    sums = [gradient.sum() for gradient in small]
    for gradient in large:
        gradient.mul_(inverse)
        sums.append(gradient.sum())
    return _any_nonfinite(small + large, sums)


@torch.no_grad()
def any_nonfinite(gradients: Sequence[torch.Tensor]) -> bool:
    """Return whether an element of one of the gradients is inf or NaN, exactly.

    A sum is a cheap first question: if an element is inf or NaN, so is every sum it goes into.
    The reverse does not hold (3e38 + 3e38 is inf in float32), so such a sum leads to a look at
    each element.
    """
    return _any_nonfinite(gradients, [gradient.sum() for gradient in gradients])


def _any_nonfinite(gradients: Sequence[torch.Tensor], sums: list[torch.Tensor]) -> bool:
    finite = torch.stack(sums).isfinite().tolist()
    suspects = [gradient for gradient, fine in zip(gradients, finite, strict=True) if not fine]
    if not suspects:
        return False
    return not torch.stack([suspect.isfinite().all() for suspect in suspects]).all()


def _is_small(gradient: torch.Tensor) -> bool:
    # _foreach_mul_ rounds the factor to a 16-bit gradient's type; mul_ does not.
    return gradient.numel() < SMALL and gradient.element_size() >= 4
