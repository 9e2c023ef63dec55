"""Arrays and CPU tensors in and out: read as float64, checked against a format, given back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ampcourse.formats import FloatFormat
from ampcourse.tensor_core.operands import inexact_message

#: A numpy array, a numpy scalar for no axes, or a CPU tensor where one came in; torch is optional.
Result = Any


def is_tensor(x: object) -> bool:
    """Whether this is a torch tensor; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def read(x: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return real numbers as float64, which holds every format of the course exactly.

    Raises TypeError for anything but numbers, ValueError for a tensor that is not on the CPU.
    """
    if is_tensor(x):
        x = _tensor_values(x, name)
    array = np.asarray(x)
    if array.dtype.kind in "bcOSUMm":
        raise TypeError(f"{name} has dtype {array.dtype}; pass float16, float32 or float64 values")
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes quiet
        return array.astype(np.float64)


def _tensor_values(x: Any, name: str) -> NDArray[np.float64]:
    if x.device.type != "cpu":
        raise ValueError(f"{name} is on {x.device}; this model runs on the CPU: pass {name}.cpu()")
    if x.is_complex() or x.dtype is sys.modules["torch"].bool:
        raise TypeError(f"{name} has dtype {x.dtype}; pass float16, float32 or float64 values")
    values: NDArray[np.float64] = x.detach().double().numpy()
    return values


def give_back(values: NDArray[np.float32], as_tensor: bool) -> Result:
    """Return an array, a scalar for no axes, or a tensor."""
    return sys.modules["torch"].from_numpy(values) if as_tensor else values[()]


def check_array(values: NDArray[np.float64], fmt: FloatFormat, name: str) -> None:
    """Raise ValueError, with place and value, unless the format holds every value exactly."""
    wrong = inexact(values.reshape(-1), fmt)
    if wrong.any():
        first = int(wrong.argmax())
        index = ", ".join(str(int(i)) for i in np.unravel_index(first, values.shape))
        place = f"{name}[{index}]" if index else name
        raise ValueError(inexact_message(float(values.flat[first]), fmt, place))


def inexact(values: NDArray[np.float64], fmt: FloatFormat) -> NDArray[np.bool_]:
    """Mark the values that the format has no code for; `operands.is_exact` for arrays."""
    magnitude = np.abs(values)
    below_last_bit = (1 << (52 - fmt.significand_bits)) - 1
    wrong = (magnitude.view(np.int64) & below_last_bit) != 0
    subnormal = magnitude < float(fmt.smallest_normal)
    units = magnitude[subnormal] / float(fmt.smallest)
    wrong[subnormal] = units != np.rint(units)
    wrong |= magnitude > float(fmt.max)
    if fmt.has_infinity:
        wrong &= ~np.isinf(magnitude)
    return wrong & ~np.isnan(magnitude) if fmt.has_nan else wrong
