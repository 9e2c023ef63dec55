"""Samples taken during a step and counted together later, which is what makes them cheap."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from ampcourse.dynamic_range.histogram import ExponentHistogram, Tally
from ampcourse.dynamic_range.values import flat

if TYPE_CHECKING:
    import numpy as np
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
        for one, (values, ends) in zip(waiting, _moved(waiting), strict=True):
            tally = Tally()
            tally.add(values if one.factor == 1.0 else values * one.factor)
            tally.reach(ends * one.factor)
            counted = tally.histogram(one.key[-1], one.population)
            before = self._counted.get(one.key)
            self._counted[one.key] = counted if before is None else before + counted


def _moved(waiting: list[_Waiting]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return samples and ends as float64 arrays, with one transfer for each device and type."""
    import torch

    groups: dict[Any, list[int]] = {}
    for place, one in enumerate(waiting):
        groups.setdefault((one.sample.device, one.sample.dtype), []).append(place)
    moved: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for places in groups.values():
        parts = [part for n in places for part in (waiting[n].sample, *waiting[n].ends)]
        together = torch.cat([part.reshape(-1) for part in parts]).cpu().double().numpy()
        start = 0
        for n in places:
            middle = start + len(waiting[n].sample)
            stop = middle + len(waiting[n].ends)
            moved[n] = together[start:middle], together[middle:stop]
            start = stop
    return [moved[n] for n in range(len(waiting))]


def _spread(values: torch.Tensor, most: int | None, step: int) -> torch.Tensor:
    """Return at most so many elements in short runs at even distances, elsewhere in each step.

    A run is what memory delivers at once; single elements would cost as much each. The
    distance has no common divisor with the number of elements, hence none with any side of
    the tensor, so that no channel and no column is passed over. A copy, since the tensor may
    be changed in place before it is counted.
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
