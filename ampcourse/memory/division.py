"""How a chain of layers is divided into segments, and what that costs if the layers are equal.

Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016 (arXiv 1604.06174): n equal layers
in k segments hold k inputs and one segment of n/k layers at a time; k + n/k is least at k = √n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise


def best_segments(layers: int) -> int:
    """Return the number of segments k that makes k + layers/k least, for equal layers.

    It is a whole number next to the square root. Raises ValueError for fewer than 1 layer.

    >>> [best_segments(n) for n in (1, 2, 9, 50)]
    [1, 1, 3, 7]
    """
    if layers < 1:
        raise ValueError(f"{layers} layers cannot be divided into segments; give 1 or more")
    low = math.isqrt(layers)
    return min((low, low + 1), key=lambda k: k + layers / k)


def bounds(layers: int, segments: int) -> list[tuple[int, int]]:
    """Return first layer and end of each segment, as equal as they can be, longer ones first.

    Raises ValueError unless there are between 1 and `layers` segments.

    >>> bounds(7, 3)
    [(0, 3), (3, 5), (5, 7)]
    """
    if not 1 <= segments <= layers:
        raise ValueError(f"segments={segments} must be between 1 and the {layers} layers there are")
    each, more = divmod(layers, segments)
    edges = [i * each + min(i, more) for i in range(segments + 1)]
    return list(pairwise(edges))


@dataclass(frozen=True)
class EqualLayers:
    """A chain of equal layers, each of which saves its input and nothing else, in segments.

    The last segment is not checkpointed. The unit of `kept` and `peak` is one layer's input.
    Raises ValueError as `bounds` does.

    >>> chain = EqualLayers(9, 3)
    >>> chain.peak, chain.recomputed, EqualLayers(9, 1).peak
    (5, 6, 9)
    """

    layers: int
    segments: int

    def __post_init__(self) -> None:
        bounds(self.layers, self.segments)

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """First layer and end of each segment."""
        return bounds(self.layers, self.segments)

    @property
    def kept(self) -> int:
        """Inputs held when the forward pass ends: one per segment, of the last one all."""
        start, end = self.bounds[-1]
        return self.segments - 1 + end - start

    @property
    def fullest(self) -> int:
        """The segment during whose backward pass most is held, counted from 0."""
        sizes = [i + end - start for i, (start, end) in enumerate(self.bounds)]
        return sizes.index(max(sizes))

    @property
    def peak(self) -> int:
        """The most inputs held: of one segment all, of each one before it the first."""
        start, end = self.bounds[self.fullest]
        return self.fullest + end - start

    @property
    def recomputed(self) -> int:
        """Layers that run forward a second time: all but those of the last segment."""
        return self.bounds[-1][0]
