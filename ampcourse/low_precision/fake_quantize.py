"""Fake quantisation: round a tensor to a scaled format and hold the result in FP32."""

from __future__ import annotations

import torch


def fake_quantize(
    x: torch.Tensor,
    fmt: str | None,
    axis: int = -1,
    *,
    scale: float | None = None,
    mode: str = "nearest_even",
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Return the numbers that a tensor becomes in a scheme or format, in FP32."""
    raise NotImplementedError
