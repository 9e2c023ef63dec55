"""What becomes of each value of a tensor in a block format; no widget library here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ampcourse.blocks import BlockScheme, quantize_blocks
from ampcourse.formats import FloatFormat


@dataclass(frozen=True)
class BlockFate:
    """A block: where it lies, its scale, and which of its values are lost.

    `scale` includes the tensor's. `flushed` became 0 and were not, `clamped` were so large that
    they became the largest number there is. Magnitudes up to `threshold` become 0. `error` is the
    root mean square of the errors over that of the values, the outlier left out of both; None
    where nothing else is in the block.
    """

    start: int
    end: int
    scale: float
    threshold: float
    flushed: tuple[int, ...]
    clamped: tuple[int, ...]
    error: float | None


@dataclass(frozen=True)
class Fate:
    """All blocks of a tensor under one scheme; `stored` are the numbers that are kept."""

    scheme: BlockScheme
    blocks: tuple[BlockFate, ...]
    stored: tuple[float, ...]
    #: As for a block, over the whole tensor.
    error: float

    @property
    def flushed(self) -> tuple[int, ...]:
        """The places of all values that became 0 and were not."""
        return tuple(place for block in self.blocks for place in block.flushed)

    @property
    def clamped(self) -> tuple[int, ...]:
        """The places of all values that were too large for their scale."""
        return tuple(place for block in self.blocks for place in block.clamped)


def fate(values: Sequence[float], scheme: BlockScheme, outlier: int) -> Fate:
    """Return what becomes of values; the one at place `outlier` does not count in the errors.

    Scales are those of `ampcourse.blocks.quantize_blocks` by its default rules, "floor" for E8M0.
    Raises ValueError as it does, for a number of values that does not fill the blocks.

    >>> from ampcourse.blocks import SCHEMES
    >>> found = fate([8.0] + 31 * [0.5], SCHEMES["mxfp4"], 0)
    >>> found.blocks[0].scale, found.blocks[0].threshold, len(found.flushed)
    (2.0, 0.5, 31)
    """
    import numpy as np

    x = np.array(values, dtype=np.float64)
    quantized = quantize_blocks(x, scheme)
    scales = [float(s) for s in np.ravel(quantized.scales.values) * quantized.tensor_scale]
    stored = tuple(float(v) for v in quantized.dequantize())
    size = scheme.block or len(x)
    blocks = tuple(
        _block(values, stored, scheme.element, (i * size, (i + 1) * size), scale, outlier)
        for i, scale in enumerate(scales)
    )
    error = _error(values, stored, [i for i in range(len(values)) if i != outlier])
    return Fate(scheme, blocks, stored, error or 0.0)


def _block(
    values: Sequence[float],
    stored: Sequence[float],
    element: FloatFormat,
    ends: tuple[int, int],
    scale: float,
    outlier: int,
) -> BlockFate:
    places = range(*ends)
    flushed = tuple(i for i in places if values[i] and not stored[i])
    # Below this, rounding to nearest gives the largest number as if there were larger ones.
    gap = 2.0 ** (element.emax - element.precision + 1)
    too_large = scale * (float(element.max) + gap / 2)
    clamped = tuple(i for i in places if scale and abs(values[i]) >= too_large)
    error = _error(values, stored, [i for i in places if i != outlier])
    return BlockFate(*ends, scale, _threshold(element, scale), flushed, clamped, error)


def _threshold(element: FloatFormat, scale: float) -> float:
    """Return the largest magnitude that becomes 0; at the middle, ties go to the even 0."""
    return scale * float(element.smallest) / 2 if scale else math.inf


def _error(values: Sequence[float], stored: Sequence[float], places: list[int]) -> float | None:
    pairs: Any = [(values[i], stored[i]) for i in places]
    total = math.fsum(v * v for v, _ in pairs)
    return math.sqrt(math.fsum((s - v) ** 2 for v, s in pairs) / total) if total else None
