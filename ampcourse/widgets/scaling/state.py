"""The state of the outlier widget: a tensor, where its outlier is and how large it is."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

from ampcourse.blocks import SCHEMES, BlockScheme
from ampcourse.formats import E4M3
from ampcourse.widgets.scaling import words
from ampcourse.widgets.scaling.fates import Fate, fate

VALUES = 64
#: The outlier is 2 to one of these.
LEAST, MOST = 0, 20

#: NVFP4's scales on elements of 8 bits: for comparison only.
_E4M3_BY_16 = BlockScheme("e4m3_16", E4M3, E4M3, block=16, tensor_scale=True)

#: For each format of the elements, the schemes that are compared.
ELEMENTS: dict[str, tuple[BlockScheme, ...]] = {
    "e2m1": (SCHEMES["per_tensor_e2m1"], SCHEMES["mxfp4"], SCHEMES["nvfp4"]),
    "e4m3": (SCHEMES["per_tensor_e4m3"], SCHEMES["mxfp8_e4m3"], _E4M3_BY_16),
}


def normal_values(count: int = VALUES, seed: int = 12) -> tuple[float, ...]:
    """Return numbers spread as a normal distribution is, standard deviation 1, in random order.

    >>> sum(abs(value) < 1 for value in normal_values())
    44
    """
    spread = NormalDist()
    values = [spread.inv_cdf((i + 0.5) / count) for i in range(count)]
    random.Random(seed).shuffle(values)
    return tuple(values)


@dataclass(frozen=True)
class OutlierState:
    """A format of elements, the place of the outlier, and the power of two that it is.

    Raises ValueError for another format, a place that is not there and an exponent out of range.
    """

    element: str
    place: int
    exponent: int

    def __post_init__(self) -> None:
        if self.element not in ELEMENTS:
            raise ValueError(words.unknown("element", self.element, tuple(ELEMENTS)))
        for name, value, low, high in (
            ("place", self.place, 0, VALUES - 1),
            ("exponent", self.exponent, LEAST, MOST),
        ):
            if value not in range(low, high + 1):
                raise ValueError(words.out_of_range(name, value, low, high))

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The tensor, with the outlier in its place."""
        others = list(normal_values())
        others[self.place] = 2.0**self.exponent
        return tuple(others)

    @cached_property
    def fates(self) -> tuple[Fate, ...]:
        """What becomes of the tensor under one scale, 32-blocks and 16-blocks."""
        return tuple(fate(self.values, scheme, self.place) for scheme in ELEMENTS[self.element])

    def with_element(self, element: str) -> OutlierState:
        """Choose another format for the elements."""
        return replace(self, element=element)

    def with_place(self, place: int) -> OutlierState:
        """Move the outlier to another place."""
        return replace(self, place=place)

    def with_exponent(self, exponent: int) -> OutlierState:
        """Make the outlier another power of two."""
        return replace(self, exponent=exponent)

    def dragged(self, place: int, exponent: int) -> OutlierState:
        """Put the outlier where the hand is, or as near as it can be."""
        nearest = min(max(place, 0), VALUES - 1), min(max(exponent, LEAST), MOST)
        return OutlierState(self.element, *nearest)
