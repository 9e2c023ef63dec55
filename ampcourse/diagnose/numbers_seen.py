"""Looking at the numbers in tensors: is one not finite, and how to describe them in a message."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch

# Narrower types (FP8 and below) have no sum; they are read where they are cast up again.
_CHECKED = {torch.float16, torch.bfloat16, torch.float32, torch.float64}


def float_tensors(values: Any) -> Iterator[torch.Tensor]:
    """Yield the floating-point tensors in arguments or outputs, however they are nested."""
    if isinstance(values, torch.Tensor):
        if values.is_floating_point():
            yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from float_tensors(value)
    elif isinstance(values, dict):
        yield from float_tensors(list(values.values()))


def stored(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor's numbers: of a sparse one, those that are stored."""
    if tensor.layout == torch.strided:
        return tensor.detach()
    return tensor.detach().coalesce().values() if tensor.is_sparse else tensor.detach().values()


def storage_key(tensor: torch.Tensor) -> int:
    """Return what a tensor shares with its views: the identity of its memory."""
    if tensor.layout != torch.strided:
        return id(tensor)
    return tensor.untyped_storage()._cdata


def is_nonfinite(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has an inf or NaN; waits for the device.

    The sum is finite unless one is there or float32 overflows; only then each value is tested.
    """
    if tensor.dtype not in _CHECKED or tensor.device.type == "meta":
        return False
    values = stored(tensor)
    wide = torch.float64 if tensor.dtype is torch.float64 else torch.float32
    if math.isfinite(values.sum(dtype=wide).item()):
        return False
    return not bool(values.isfinite().all())


def counts(tensor: torch.Tensor) -> tuple[int, int, int]:
    """Return how many numbers a tensor has, how many are inf and how many NaN."""
    values = stored(tensor)
    return values.numel(), int(values.isinf().sum()), int(values.isnan().sum())


def dtype_name(dtype: torch.dtype) -> str:
    """Return "float16" for torch.float16."""
    return str(dtype).removeprefix("torch.")


def describe(tensor: torch.Tensor, name: str = "") -> str:
    """Return type, shape and range of magnitudes, such as "float16 [8, 64], at most 312"."""
    values = stored(tensor).float()
    values = values[values.isfinite()].abs()
    title = f"{name + ': ' if name else ''}{dtype_name(tensor.dtype)} {list(tensor.shape)}"
    if not values.numel():
        return title
    least = " (some are 0)" if bool((values == 0).any()) else ""
    return f"{title} up to {values.max().item():.6g}{least}"


def what_is_wrong(tensor: torch.Tensor) -> str:
    """Return "3 inf and 1 NaN among 64 float16 numbers"."""
    total, infs, nans = counts(tensor)
    parts = [f"{n} {name}" for n, name in ((infs, "inf"), (nans, "NaN")) if n]
    return f"{' and '.join(parts)} among {total} {dtype_name(tensor.dtype)} numbers"


def listing(items: Iterable[str], most: int = 4) -> str:
    """Return items joined by semicolons, with how many more there are."""
    texts = list(items)
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return "; ".join(texts[:most]) + more
