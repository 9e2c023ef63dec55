"""The rule by which a dynamic loss scale moves, with nothing around it.

A scale is only ever judged by the gradients it led to. If one of them was inf or NaN, the scale
was too large: it backs off. If none was for many steps in a row, there may be room above: it
grows. Everything else (multiplying the loss, dividing the gradients, skipping the step) is
`grad_scaler`'s work.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class LossScale:
    """A loss scale and the number of good steps in a row since it last moved."""

    scale: float = 2.0**16
    growth_tracker: int = 0


def update(
    state: LossScale,
    found_inf: bool,
    growth_factor: float = 2.0,
    backoff_factor: float = 0.5,
    growth_interval: int = 2000,
) -> LossScale:
    """Return the state after a step, given whether one of its gradients was inf or NaN.

    Same defaults and, bit for bit, same results as the kernel behind torch.amp.GradScaler
    (aten/src/ATen/native/cpu/AmpGradScalerKernels.cpp): the scale is a float32, a factor is a
    float64, and their product is rounded once. The factors are not checked here; GradScaler
    does that.

    >>> update(LossScale(65536.0, 1999), found_inf=False)
    LossScale(scale=131072.0, growth_tracker=0)
    >>> update(LossScale(65536.0, 1999), found_inf=True)
    LossScale(scale=32768.0, growth_tracker=0)

    A whole training, one answer per step:

    >>> from itertools import accumulate
    >>> steps = accumulate([True, False, False], update, initial=LossScale(8.0))
    >>> [(state.scale, state.growth_tracker) for state in steps]
    [(8.0, 0), (4.0, 0), (4.0, 1), (4.0, 2)]
    """
    if found_inf:
        return LossScale(to_float32(state.scale * backoff_factor), 0)
    good_steps = state.growth_tracker + 1
    if good_steps != growth_interval:
        return LossScale(state.scale, good_steps)
    grown = to_float32(state.scale * growth_factor)
    # A scale of inf would make every later gradient inf or NaN, for ever.
    return LossScale(grown if math.isfinite(grown) else state.scale, 0)


def to_float32(x: float) -> float:
    """Round a number to the nearest float32, ties to even; too large ones become infinite.

    >>> to_float32(0.1).hex(), to_float32(-1e39)
    ('0x1.99999a0000000p-4', -inf)
    """
    # Native packing ("f", not "<f") is C's cast: no error for a number that is too large.
    rounded: float = struct.unpack("f", struct.pack("f", x))[0]
    return rounded
