"""The search finds the largest batch that fits, whatever the limit, and leaves nothing behind."""

from __future__ import annotations

import gc
import itertools
import time
import weakref
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ampcourse.benchmark import models
from ampcourse.benchmark.largest_batch import MOST, _next, largest_batch
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.recipes import parse
from ampcourse.benchmark.steps import Step, prepare
from ampcourse.memory.peak import predict

CPU = Machine()

#: Tensors that failed steps held.
ALIVE: Any = weakref.WeakSet()


class SmallGpu(Machine):
    """A machine that says it is a GPU with room for so many images and for nothing more."""

    kind = "cuda"

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room, self.seen, self.emptied = room, 0, 0

    def free_memory(self) -> int:
        return 10**9

    def peak(self) -> dict[str, int | None]:
        return {"peak_allocated": 1000 * self.seen, "peak_reserved": 1000 * self.seen}

    def reset_peak(self) -> None:
        self.seen = 0

    def empty_cache(self) -> None:
        gc.collect()
        self.emptied += 1


def tiny(recipe: str = "fp32") -> Step:
    model = models.build("tiny", stem="3x3")
    return prepare(parse(recipe), model, models.sgd(), CPU)


def sample(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, 1, 8, 8), torch.zeros(batch, dtype=torch.long)


class Limited(Step):
    """A step that runs out of memory as torch does on a GPU."""

    def step(self, images: torch.Tensor, labels: torch.Tensor, between: Any = None) -> torch.Tensor:
        machine: Any = self.machine
        machine.seen = len(images)
        if len(images) > machine.room:
            held = torch.zeros(4)
            ALIVE.add(held)
            raise torch.OutOfMemoryError(f"CUDA out of memory: {len(images)} images, {held}")
        return torch.zeros(())


def on(machine: SmallGpu, **options: Any) -> dict[str, Any]:
    def make() -> Step:
        assert not list(ALIVE)  # what the last try held is gone before the next begins
        step = tiny()
        return Limited(step.recipe, step.model, step.optimizer, machine, None)

    return largest_batch(make, machine, sample=sample, **options)


@pytest.mark.parametrize("room", [1, 5, 32, 33, 200])
def test_a_gpu_is_tried_and_the_largest_batch_that_ran_is_found(room: int) -> None:
    row = on(SmallGpu(room))
    assert (row["method"], row["complete"], row["limit"]) == ("tried", True, 10**9)
    assert room - room / 32 - 1 < row["batch"] <= room
    assert [row["batch"], True] in row["tried"]
    assert dict(row["tried"]) == {size: size <= room for size, _ in row["tried"]}


def test_not_even_one_image_is_a_batch_of_0() -> None:
    row = on(SmallGpu(0))
    assert (row["batch"], row["complete"]) == (0, True)
    assert row["tried"][-1] == [1, False]


def test_a_cap_in_bytes_counts_as_the_end_of_memory() -> None:
    row = on(SmallGpu(1000), cap=50_000)  # of 1,000 bytes an image
    assert row["limit"] == 50_000
    assert 48 <= row["batch"] <= 50


def test_memory_is_given_back_after_every_try() -> None:
    machine = SmallGpu(40)
    row = on(machine)
    assert machine.emptied == len(row["tried"]) + 1


def test_another_error_is_no_lack_of_memory() -> None:
    def broken(batch: int) -> Any:
        raise RuntimeError("shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes cannot"):
        largest_batch(tiny, SmallGpu(10), sample=broken)


def test_a_search_out_of_time_says_that_it_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    row = on(SmallGpu(200), deadline=1.5)
    assert (row["tried"], row["batch"], row["complete"]) == ([[32, True], [64, True]], 64, False)


@pytest.mark.parametrize("recipe", ["fp32", "amp-bf16", "fp32+checkpoint", "amp-bf16+nhwc"])
def test_on_a_cpu_the_prediction_for_the_batch_is_within_the_cap_and_not_for_the_next(
    recipe: str,
) -> None:
    cap = 2_000_000
    row = largest_batch(lambda: tiny(recipe), CPU, sample=sample, cap=cap, within=0.0)
    assert (row["method"], row["complete"], row["limit"]) == ("predicted", True, cap)
    rehearsed = "autocast" if recipe.startswith("amp") else "fp32"
    peaks = [
        predict(tiny(recipe).model, "momentum", rehearsed, (row["batch"] + more, 1, 8, 8)).peak
        for more in (0, 1)
    ]
    assert peaks[0] <= cap < peaks[1]


def test_half_the_bytes_and_checkpointing_make_room_for_more() -> None:
    found = {
        recipe: largest_batch(lambda r=recipe: tiny(r), CPU, sample=sample, cap=2_000_000)["batch"]  # type: ignore[misc]
        for recipe in ("fp32", "amp-bf16", "fp32+checkpoint")
    }
    assert found["fp32"] < found["amp-bf16"] < 2 * found["fp32"]
    assert found["fp32"] < found["fp32+checkpoint"]


def test_without_a_cap_a_cpus_limit_is_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CPU, "free_memory", lambda: 3_000_000)
    assert largest_batch(tiny, CPU, sample=sample)["limit"] == 3_000_000
    monkeypatch.setattr(CPU, "free_memory", lambda: None)
    with pytest.raises(ValueError, match="give a cap in bytes"):
        largest_batch(tiny, CPU, sample=sample)


@given(st.integers(0, 5000), st.integers(1, 300), st.sampled_from([0.0, 1 / 32, 0.2]))
@settings(max_examples=200)
def test_the_search_ends_near_any_limit_from_any_start(
    room: int, start: int, within: float
) -> None:
    tried: dict[int, bool] = {}
    while (batch := _next(tried, start, within)) is not None:
        assert batch >= 1
        assert batch not in tried
        tried[batch] = batch <= room
    best = max((size for size, ok in tried.items() if ok), default=0)
    assert best <= room <= best + max(1, within * best)
    assert room - best < max(1, within * best) or room == best
    assert len(tried) < 30


def test_a_search_that_never_fails_ends() -> None:
    tried: dict[int, bool] = {}
    while (batch := _next(tried, 3, 0.1)) is not None:
        tried[batch] = True
    assert max(tried) == MOST


def test_no_start_is_refused() -> None:
    with pytest.raises(ValueError, match="start=0 is no batch"):
        largest_batch(tiny, CPU, sample=sample, start=0)
