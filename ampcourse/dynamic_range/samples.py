"""Samples taken during a step and counted together later, which is what makes them cheap."""

from __future__ import annotations

from itertools import accumulate
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ampcourse.dynamic_range.histogram import (
    ExponentHistogram,
    Tally,
    field_counts,
    largest_finite,
)
from ampcourse.dynamic_range.values import flat

if TYPE_CHECKING:
    import torch

#: How many elements may wait to be counted; beyond that they are counted at once.
_WAITING = 1 << 20

#: Elements side by side that a sample takes: a cache line of float32.
_RUN = 16

#: Step, kind and name.
_Key = tuple[int, str, str]


class _Waiting(NamedTuple):
    """A sample that was taken and not yet counted."""

    key: _Key
    sample: torch.Tensor
    #: The smallest and the largest of all values, if they were asked for.
    ends: tuple[torch.Tensor, ...]
    factor: float
    population: int


class Samples:
    """Histograms by step, kind and name, filled from samples of tensors.

    Taking a sample is one small copy on the tensor's own device. The counting waits until
    somebody asks, or the next step begins, and then moves each device's samples in one go: a
    GPU is made to wait once a step, not once a tensor.
    """

    def __init__(self, most: int | None, all_largest: bool = False) -> None:
        self._most, self._all_largest = most, all_largest
        self._step = 0
        self._begun: list[int] = []
        self._waiting: list[_Waiting] = []
        self._elements = 0
        self._counted: dict[_Key, ExponentHistogram] = {}

    def begin(self, step: int) -> None:
        """Count what waits and put what comes next under this step."""
        self._count()
        self._step = step
        if self._begun[-1:] != [step]:
            self._begun.append(step)

    def take(self, kind: str, name: str, tensor: torch.Tensor, factor: float = 1.0) -> None:
        """Keep a sample of a tensor, to be multiplied by ``factor`` before it is counted."""
        values = flat(tensor)
        sample = _spread(values, self._most, self._step)
        look = self._all_largest and len(sample) < len(values)
        ends = tuple(values.aminmax()) if look else ()
        key = (self._step, kind, name)
        self._waiting.append(_Waiting(key, sample, ends, factor, len(values)))
        self._elements += len(sample)
        if self._elements > _WAITING:
            self._count()

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps begun, in order."""
        return tuple(self._begun)

    def names(self, kind: str) -> set[str]:
        """Return the names that have samples of a kind."""
        self._count()
        return {name for _, this, name in self._counted if this == kind}

    def histogram(self, kind: str, name: str, step: int | None) -> ExponentHistogram | None:
        """Return the histogram of one step, or of all; None if there is none."""
        self._count()
        keys = [(step, kind, name)] if step is not None else [(n, kind, name) for n in self._begun]
        found = [self._counted[key] for key in keys if key in self._counted]
        return sum(found[1:], found[0]) if found else None

    def _count(self) -> None:
        waiting, self._waiting, self._elements = self._waiting, [], 0
        groups: dict[Any, list[_Waiting]] = {}
        for one in waiting:
            groups.setdefault((one.sample.device, one.sample.dtype), []).append(one)
        for group in groups.values():
            for one, tally in zip(group, _tallies(group), strict=True):
                counted = tally.histogram(one.key[-1], one.population)
                before = self._counted.get(one.key)
                self._counted[one.key] = counted if before is None else before + counted


def _tallies(group: list[_Waiting]) -> list[Tally]:
    """Count samples of one device and type together: one transfer, few calls of numpy."""
    lengths = [len(one.sample) for one in group]
    factors = np.repeat([one.factor for one in group], lengths)
    values = _moved([one.sample for one in group]) * factors
    starts = [0, *accumulate(lengths)]
    filled = [n for n, length in enumerate(lengths) if length]
    largest = dict(zip(filled, largest_finite(values, [starts[n] for n in filled]), strict=True))
    tallies = []
    for n, fields in enumerate(field_counts(values, lengths)):
        tally = Tally()
        tally.merge(values[starts[n] : starts[n + 1]], fields, largest.get(n, 0.0))
        tallies.append(tally)
    _reach(tallies, group)
    return tallies


def _reach(tallies: list[Tally], group: list[_Waiting]) -> None:
    """Let each tally know the ends of the tensor behind its sample, where they were taken."""
    looked = [n for n, one in enumerate(group) if one.ends]
    if looked:
        ends = _moved([end.reshape(1) for n in looked for end in group[n].ends])
        for n, pair in zip(looked, ends.reshape(-1, 2), strict=True):
            tallies[n].reach(pair * group[n].factor)


def _moved(tensors: list[torch.Tensor]) -> np.ndarray:
    """Return tensors of one device and type, end to end, as float64."""
    import torch

    return torch.cat(tensors).cpu().double().numpy()


def _spread(values: torch.Tensor, most: int | None, step: int) -> torch.Tensor:
    """Return at most so many elements in short runs at even distances, elsewhere in each step.

    A run is what memory delivers at once; single elements would cost as much each. The
    distance has no common divisor with the number of elements, hence none with any side of
    the tensor, so that no channel and no column is passed over in every step. A copy, since
    the tensor may be changed in place before it is counted.
    """
    if most is None or len(values) <= most:
        return values.clone()
    run = min(_RUN, most)
    distance = -(-len(values) // (most // run))
    while gcd(distance, len(values)) > 1:
        distance += 1
    start = min(step * run % distance, len(values) - run)
    runs = values[start:].unfold(0, run, distance)
    return runs.reshape(-1) if len(runs) > 1 else runs[0].clone()  # reshape copies where it must
