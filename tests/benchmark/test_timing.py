"""The timer reads the clock of a device that works on by itself; intervals are the bootstrap's."""

from __future__ import annotations

import random
import statistics

import numpy as np
import pytest

from ampcourse.benchmark.timing import Ratio, interleaved, ratio, step_times


class Queue:
    """A device with a queue and a host that goes on; counted in whole units of time."""

    def __init__(self, *works: int) -> None:
        self.works = iter(works)
        self.host = self.free = 0
        self.log: list[str] = []

    def step(self) -> None:
        self.log.append("step")
        self.host += 10
        self.free = max(self.free, self.host) + next(self.works)

    def synchronize(self) -> None:
        self.log.append("synchronize")
        self.host = max(self.host, self.free)

    def clock(self) -> int:
        self.log.append("clock")
        return self.host


def test_a_step_takes_what_the_device_needs_and_not_what_it_takes_to_issue_it() -> None:
    queue = Queue(5000, 700, 100, 200, 300)
    times = step_times(
        queue.step, synchronize=queue.synchronize, clock=queue.clock, warm_up=2, repeats=3
    )
    assert times == [110, 210, 310]


def test_both_readings_of_the_clock_come_right_after_a_wait() -> None:
    queue = Queue(*[100] * 9)
    step_times(queue.step, synchronize=queue.synchronize, clock=queue.clock, warm_up=1, repeats=4)
    readings = [i for i, word in enumerate(queue.log) if word == "clock"]
    assert len(readings) == 8
    assert all(queue.log[i - 1] == "synchronize" for i in readings)
    assert queue.log.count("step") == 5


def test_runs_take_turns_and_every_round_has_each_of_them_once() -> None:
    seen: list[str] = []
    runs = {name: (lambda name=name: seen.append(name)) for name in "abc"}
    times = interleaved(runs, rounds=20, warm_up=2)
    assert seen[:6] == ["a", "a", "b", "b", "c", "c"]
    rounds = [seen[i : i + 3] for i in range(6, 66, 3)]
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds)
    assert len({tuple(order) for order in rounds}) > 3
    assert {name: len(found) for name, found in times.items()} == {"a": 20, "b": 20, "c": 20}


def test_the_order_repeats_from_its_seed() -> None:
    def order(seed: int) -> list[str]:
        seen: list[str] = []
        runs = {name: (lambda name=name: seen.append(name)) for name in "abc"}
        interleaved(runs, rounds=5, warm_up=0, seed=seed)
        return seen

    assert order(1) == order(1) != order(2)


def test_the_ratio_is_the_median_of_the_rounds_and_not_a_ratio_of_medians() -> None:
    before, after = [10.0, 40.0, 90.0], [5.0, 10.0, 90.0]
    assert ratio(before, after).value == 2.0
    assert statistics.median(before) / statistics.median(after) == 4.0


def test_the_interval_agrees_with_numpys_bootstrap() -> None:
    draw = random.Random(3)
    before = [draw.uniform(1.9, 2.3) for _ in range(25)]
    after = [draw.uniform(0.9, 1.1) for _ in range(25)]
    found = ratio(before, after, resamples=20_000)
    rounds = np.array(before) / np.array(after)
    picks = np.random.default_rng(0).integers(0, 25, (20_000, 25))
    low, high = np.quantile(np.median(rounds[picks], axis=1), [0.025, 0.975])
    # Both are samples of the same distribution over 25 values: neighbours among them at most.
    between = np.sort(rounds)
    for ours, theirs in ((found.low, low), (found.high, high)):
        assert abs(np.searchsorted(between, ours) - np.searchsorted(between, theirs)) <= 1


def test_rounds_that_agree_have_an_interval_of_one_point() -> None:
    assert ratio([4.0] * 7, [2.0] * 7) == Ratio(2.0, 2.0, 2.0)
    assert str(ratio([4.0] * 7, [2.0] * 7)) == "2.00 (2.00 to 2.00)"


@pytest.mark.parametrize(
    ("before", "after", "options", "words"),
    [
        ([], [], {}, "two from each round"),
        ([1.0], [1.0, 2.0], {}, "1 and 2 times"),
        ([1.0, 0.0], [1.0, 1.0], {}, "above 0"),
        ([1.0], [1.0], {"resamples": 39}, "resamples=39"),
    ],
)
def test_what_gives_no_ratio_is_refused(
    before: list[float], after: list[float], options: dict[str, int], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        ratio(before, after, **options)


def test_no_rounds_are_refused() -> None:
    for options in ({"repeats": 0}, {"warm_up": -1}):
        with pytest.raises(ValueError, match="at least one round"):
            step_times(lambda: None, **options)  # type: ignore[arg-type]
