"""The right timer: warm up, wait for the device before each reading, take turns, take the median.

A device works on after the call that started it has returned. `synchronize` is what waits for it,
such as torch.cuda.synchronize; on a CPU there is nothing to wait for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Clock = Callable[[], float]


def _nothing() -> None:
    """Wait for a device that is done when its call returns."""


def step_times(
    step: Callable[[], object],
    *,
    synchronize: Callable[[], object] = _nothing,
    clock: Clock = time.perf_counter,
    warm_up: int = 3,
    repeats: int = 9,
) -> list[float]:
    """Return how long each of `repeats` steps took, after `warm_up` steps that are not counted.

    In the clock's unit: seconds, if none is given. Raises ValueError for no repeats or a negative
    warm-up.
    """
    runs = {"step": step}
    options = {"synchronize": synchronize, "clock": clock, "warm_up": warm_up}
    return interleaved(runs, rounds=repeats, **options)["step"]  # type: ignore[arg-type]


def interleaved(
    runs: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 9,
    synchronize: Callable[[], object] = _nothing,
    clock: Clock = time.perf_counter,
    warm_up: int = 3,
    seed: int = 0,
) -> dict[str, list[float]]:
    """Return the times of several runs that take turns, in another order in each round.

    Number i of one list and number i of another are from the same round: what disturbs the
    machine for longer than a step disturbs both. Raises ValueError for no rounds or a negative
    warm-up.
    """
    if rounds < 1 or warm_up < 0:
        raise ValueError(
            f"rounds={rounds}, warm_up={warm_up}: at least one round and no negative warm-up"
        )
    for run in runs.values():
        for _ in range(warm_up):
            run()
    order, draw = list(runs), random.Random(seed)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        draw.shuffle(order)
        for name in order:
            times[name].append(_one(runs[name], synchronize, clock))
    return times


def _one(run: Callable[[], object], synchronize: Callable[[], object], clock: Clock) -> float:
    synchronize()  # what was queued before is not this step's work
    start = clock()
    run()
    synchronize()
    return clock() - start


@dataclass(frozen=True)
class Ratio:
    """How many times as fast, and between which two factors 95 % of the resamples lie."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(
    before: Sequence[float], after: Sequence[float], *, resamples: int = 1000, seed: int = 0
) -> Ratio:
    """Return the median of the rounds' ratios before / after, with a bootstrap interval.

    Resampled are rounds, as pairs; the interval leaves out 2.5 % of the resamples' medians at each
    end (Efron, Bootstrap Methods, Annals of Statistics 7(1), 1979). It knows of nothing that was
    the same in all rounds. Raises ValueError for lists of different lengths or empty ones, times
    that are not above 0, and fewer than 40 resamples.
    """
    if len(before) != len(after) or not before:
        raise ValueError(
            f"{len(before)} and {len(after)} times: a ratio needs two from each round, and a round"
        )
    if not min(*before, *after) > 0:
        raise ValueError(f"a step took {min(*before, *after)}: times must be above 0")
    if resamples < 40:
        raise ValueError(f"resamples={resamples} leaves no tails; take 40 or more")
    ratios = [one / other for one, other in zip(before, after, strict=True)]
    draw = random.Random(seed)
    medians = sorted(median(draw.choices(ratios, k=len(ratios))) for _ in range(resamples))
    tail = resamples // 40
    return Ratio(median(ratios), medians[tail], medians[-1 - tail])
