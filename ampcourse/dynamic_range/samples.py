"""Samples taken during a step and counted together later, which is what makes them cheap."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from ampcourse.dynamic_range.histogram import ExponentHistogram, Tally
from ampcourse.dynamic_range.values import flat

if TYPE_CHECKING:
    import torch

#: How many elements may wait to be counted; beyond that they are counted at once.
_WAITING = 1 << 20

#: Elements side by side that a sample takes: a cache line of float32.
_RUN = 16


class Samples:
    """Histograms by step, kind and name, filled from samples of tensors.

    Taking a sample is one small copy on the tensor's own device. The counting waits until
    somebody asks, or the next step begins, and then moves each device's samples in one go: a
    GPU is made to wait once a step, not once a tensor.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._step = 0
        self._begun: list[int] = []
        self._waiting: list[tuple[tuple[int, str, str], torch.Tensor, float, int]] = []
        self._elements = 0
        self._counted: dict[tuple[int, str, str], ExponentHistogram] = {}

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
        self._waiting.append(((self._step, kind, name), sample, factor, len(values)))
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
        for (key, _, factor, population), values in zip(waiting, _moved(waiting), strict=True):
            tally = Tally()
            tally.add(values if factor == 1.0 else values * factor)
            counted = tally.histogram(key[-1], population)
            self._counted[key] = self._counted[key] + counted if key in self._counted else counted


def _moved(waiting: list[Any]) -> list[Any]:
    """Return the samples as float64 numpy arrays, with one transfer for each device and type."""
    import torch

    groups: dict[Any, list[int]] = {}
    for place, (_, sample, _, _) in enumerate(waiting):
        groups.setdefault((sample.device, sample.dtype), []).append(place)
    moved: list[Any] = [None] * len(waiting)
    for places in groups.values():
        samples = [waiting[place][1] for place in places]
        together = torch.cat(samples).cpu().double()
        for place, part in zip(places, together.split([len(s) for s in samples]), strict=True):
            moved[place] = part.numpy()
    return moved


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
    start = step * run % distance
    return values[min(start, len(values) - run) :].unfold(0, run, distance).reshape(-1).clone()
