"""Small updates in BF16: lost by rounding to nearest, kept on average by stochastic rounding."""

from __future__ import annotations

WAYS = ("nearest", "stochastic", "master")


def add_repeatedly(
    start: float, step: float, count: int, way: str = "nearest", seed: int = 0
) -> list[float]:
    """Return a BF16 weight after each of ``count`` additions of ``step``, ``count + 1`` values."""
    raise NotImplementedError


def train_bf16(way: str, steps: int = 200, seed: int = 0) -> list[float]:
    """Return the losses of a small net with BF16 weights under SGD, one way of updating them."""
    raise NotImplementedError
