"""Rounding that training can go through."""

from __future__ import annotations

from typing import Any

import torch

from ampcourse.encode import Overflow
from ampcourse.formats import FloatFormat
from ampcourse.quantize.values import quantize


class _StraightThrough(torch.autograd.Function):
    """quantize forward, the identity backward."""

    @staticmethod
    def forward(x: torch.Tensor, arguments: dict[str, Any]) -> torch.Tensor:
        """Round."""
        return quantize(x, **arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep nothing: the backward pass needs nothing."""

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Hand the gradient on as if nothing had been rounded."""
        return gradient, None


def quantize_ste(
    x: torch.Tensor,
    fmt: str | FloatFormat,
    mode: str = "nearest_even",
    overflow: Overflow = None,
    subnormals: bool = True,
    *,
    random_bits: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Round a tensor as ``quantize`` does and let gradients pass as if it had not.

    The straight-through estimator (Bengio, Léonard and Courville, Estimating or propagating
    gradients through stochastic neurons for conditional computation, arXiv:1308.3432, 2013):
    the gradient with respect to x is the one with respect to the result, also where the result
    saturated or became zero. Arguments and errors are those of ``quantize``; numpy arrays
    raise TypeError, since they have no gradients.

    >>> x = torch.tensor([0.1, 3.3], requires_grad=True)
    >>> y = quantize_ste(x, "e2m1")
    >>> y.tolist(), torch.autograd.grad(y.sum(), x)[0].tolist()
    ([0.0, 3.0], [1.0, 1.0])
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(
            f"quantize_ste takes a torch tensor, not a {type(x).__name__}; quantize takes arrays"
        )
    arguments = {
        "fmt": fmt,
        "mode": mode,
        "overflow": overflow,
        "subnormals": subnormals,
        "random_bits": random_bits,
        "generator": generator,
    }
    return _StraightThrough.apply(x, arguments)
