"""What the counting functions take, brought to one form: a flat run of floats."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import torch

    #: A numpy array, a torch tensor, or nested sequences of Python floats.
    Values: TypeAlias = np.ndarray | torch.Tensor | list[Any] | tuple[Any, ...] | float

#: Elements worked on at a time, so that the temporaries stay in the cache.
CHUNK = 1 << 16


def is_tensor(x: object) -> bool:
    """Whether x is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def flat(x: Values) -> Any:
    """Return the elements as one run, without a copy wherever the memory is one run.

    The order is that of the memory, so that channels_last and transposed tensors are not
    copied. A sparse tensor gives the values it stores. Raises TypeError for anything but
    floating-point numbers that float64 holds exactly.
    """
    return _flat_tensor(x) if is_tensor(x) else _flat_array(x)


def chunks(values: Any) -> Iterator[np.ndarray]:
    """Yield a flat run as float64 numpy arrays; every supported type fits exactly."""
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        if is_tensor(part):
            yield part.cpu().double().numpy()
        else:
            yield _widened(part)


def _widened(part: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # a signalling NaN is one more NaN here
        return part.astype(np.float64)


def _flat_array(x: Any) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype.kind not in "fV" or array.dtype.itemsize > 8:  # ml_dtypes' floats are "V"
        raise TypeError(_refusal(f"{type(x).__name__} of dtype {array.dtype}"))
    try:
        array = array if array.dtype.kind == "f" else array.astype(np.float32)
    except (TypeError, ValueError):
        raise TypeError(_refusal(f"an array of dtype {array.dtype}")) from None
    return array.ravel(order="K")


def _flat_tensor(x: Any) -> Any:
    if not x.dtype.is_floating_point:
        raise TypeError(_refusal(f"a tensor of {x.dtype}"))
    x = x.detach()
    if x.layout != sys.modules["torch"].strided:
        x = x.coalesce().values() if x.is_sparse else x.values()
    if x.is_contiguous():
        return x.view(-1)
    strides = x.stride()
    order = sorted(range(x.dim()), key=lambda axis: -strides[axis])
    return x.permute(order).reshape(-1)


def _refusal(what: str) -> str:
    return (
        f"{what} holds no floating-point numbers of at most 64 bits; pass floats, "
        "for example x.astype(numpy.float32) or x.float()"
    )
