"""One scale for a whole tensor, made from its largest magnitude: the amax.

Current scaling takes the amax of the tensor itself, which means reading it twice. Delayed scaling
takes the amax of past steps, and reads it once; a tensor that jumps is clipped. Sources:
Micikevicius et al., FP8 Formats for Deep Learning, arXiv 2209.05433, section 2 (numbers are
scaled before they are cast to FP8, and unscaled after); NVIDIA Transformer Engine, folder
common/recipe: recipe_common.cuh (the scale cut to a power of two; an amax of 0, infinity or NaN)
and delayed_scaling.cu (the history).
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from math import inf, isfinite, isnan

from ampcourse.formats import FloatFormat, get_format
from ampcourse.rounding import floor_log2

#: Scales stay within 2^-126 and 2^126, where FP32 has both them and their reciprocals as normals.
LARGEST_EXPONENT = 126


def scale_for(
    amax: float, fmt: str | FloatFormat = "e4m3", margin: int = 0, *, previous: float = 1.0
) -> float:
    """Return the largest power of two with amax x scale within a format, less ``margin`` bits.

    That is 2^floor(log2(largest / amax) - margin), exact for every float. Rounded down, so that
    nothing is clipped: the nearest power of two would do so. ``margin`` leaves a factor of
    2^margin for tensors that grow. What is stored is the tensor times the scale, what is meant is
    the stored tensor over the scale. A power of two makes both steps exact, and leaves up to one
    binade of range unused; largest / amax in FP32, which Transformer Engine takes unless it is
    told to use powers of two, leaves none.

    An amax of 0, infinity or NaN says nothing: the result is ``previous``. A tiny amax stops at
    2^126, a huge one at 2^-126. Raises ValueError for a negative amax, TypeError for a margin
    that is no int.

    >>> [scale_for(amax) for amax in (448.0, 449.0, 1.0, 0.0)]
    [1.0, 0.5, 256.0, 1.0]
    >>> scale_for(1.0, "e5m2"), scale_for(1.0, margin=3), scale_for(float("inf"), previous=8.0)
    (32768.0, 32.0, 8.0)
    """
    if isinstance(margin, bool) or not isinstance(margin, int):
        raise TypeError(f"margin = {margin!r} is no int: it counts powers of two")
    if amax < 0:
        raise ValueError(f"amax = {amax!r} is negative; it is the largest of the magnitudes")
    if amax == 0 or not isfinite(amax):
        return previous
    exponent = floor_log2(get_format(fmt).max / Fraction(amax)) - margin
    return 2.0 ** min(max(exponent, -LARGEST_EXPONENT), LARGEST_EXPONENT)


class AmaxHistory:
    """The amax of the last steps, and the scale for the next: delayed scaling.

    The scale is made for the largest amax among the last ``length`` that were pushed, so a jump
    up is clipped for one step and a jump down is noticed after ``length`` steps. A NaN is
    ignored, as by the kernel's fmaxf; an infinity holds the scale where it is until it has
    left the history. Before the first usable amax the scale is 1. Transformer Engine keeps
    1,024 steps by default, this course 16. Raises ValueError for a length below 1.

    >>> history = AmaxHistory(length=2)
    >>> history.scale("e4m3")
    1.0
    >>> scales = []
    >>> for amax in (1.0, 100.0, 1.0, 1.0):
    ...     history.push(amax)
    ...     scales.append(history.scale("e4m3"))
    >>> scales
    [256.0, 4.0, 4.0, 256.0]
    """

    def __init__(self, length: int = 16) -> None:
        if length < 1:
            raise ValueError(f"length = {length} is below 1: a scale needs at least one past step")
        self._steps: deque[float] = deque(maxlen=length)
        self._usable = 0.0

    def __repr__(self) -> str:
        return f"AmaxHistory(length={self.length}, steps={list(self._steps)})"

    @property
    def length(self) -> int:
        """How many steps are remembered."""
        return self._steps.maxlen or 0

    @property
    def steps(self) -> tuple[float, ...]:
        """The remembered amaxes, oldest first."""
        return tuple(self._steps)

    @property
    def amax(self) -> float:
        """What the next scale is made for; 0 if there was no usable amax yet."""
        return self._usable

    def push(self, amax: float) -> None:
        """Add the amax of this step; raise ValueError if it is negative."""
        if amax < 0:
            raise ValueError(f"amax = {amax!r} is negative; it is the largest of the magnitudes")
        self._steps.append(float(amax))
        largest = max((step for step in self._steps if not isnan(step)), default=0.0)
        if 0 < largest < inf:
            self._usable = largest

    def scale(self, fmt: str | FloatFormat = "e4m3", margin: int = 0) -> float:
        """Return the scale for the next tensor, made from past steps only."""
        return scale_for(self._usable, fmt, margin)
