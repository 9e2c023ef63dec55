"""A run's future names each thing that a resumed run could lack, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")

import torch

from ampcourse.training.capstone import Run
from ampcourse.training.resumption import begun, differences, future, go_on, tried


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_num_threads(threads)


def halve(run: Run) -> None:
    run.optimizer.param_groups[0]["lr"] /= 2


def wipe(run: Run) -> None:
    run.optimizer.state.clear()


def count(run: Run) -> None:
    run.scaler.load_state_dict({**run.scaler.state_dict(), "_growth_tracker": 77})


def scale(run: Run) -> None:
    run.scaler.load_state_dict({**run.scaler.state_dict(), "scale": 3.0})


def shuffle(run: Run) -> None:
    run.batches.order = run.batches.order.flip(0)


def weigh(run: Run) -> None:
    list(run.model.modules())[-1].bias.data[0] += 1


CHANGES: list[tuple[Callable[[Run], object], list[str]]] = [
    (lambda run: None, []),
    (weigh, ["weights"]),
    (wipe, ["momentum"]),
    (halve, ["rate"]),
    (lambda run: setattr(run.scheduler, "last_epoch", 99), ["schedule"]),
    (scale, ["scale"]),
    (count, ["count"]),
    (shuffle, ["order"]),
    (lambda run: setattr(run.batches, "position", 0), ["position", "order"]),
    (lambda run: run.batches.generator.manual_seed(5), ["next orders"]),
    (lambda run: torch.rand(1), ["dropout"]),
    (lambda run: run.history.clear(), ["history"]),
]


@pytest.mark.parametrize(("change", "names"), CHANGES)
def test_what_was_changed_is_named_and_nothing_else(
    change: Callable[[Run], object], names: list[str]
) -> None:
    run = begun(3, 7)
    before = future(run)
    change(run)
    assert differences(before, future(run)) == names


def test_the_rest_of_the_order_is_as_good_as_the_order_and_a_place_in_it() -> None:
    run = begun(3, 7)
    before = future(run)
    batches = run.batches
    batches.order, batches.position = batches.order[batches.position :], 0
    assert differences(before, future(run)) == []


@pytest.mark.parametrize("steps", [0, 3, 5])
def test_the_draws_told_are_those_that_come(steps: int) -> None:
    run = begun(4, steps)
    run.batches.images = torch.arange(200)
    told = future(run)
    assert len(told["order"]) == -steps % 5
    run.batches.convert = torch.Tensor.long
    drawn = [run.batches.draw()[0].tolist() for _ in range(10 + -steps % 5)]
    assert drawn == told["order"] + told["next orders"]


def test_looking_ahead_changes_nothing() -> None:
    torch.manual_seed(0)
    watched = begun(3, 4)
    random = torch.get_rng_state()
    future(watched)
    assert torch.equal(torch.get_rng_state(), random)
    go_on(watched, 9)
    torch.manual_seed(0)
    other = begun(3, 4)
    go_on(other, 9)
    assert differences(future(watched), future(other)) == []


def test_some_steps_are_skipped_and_the_schedule_waits_for_them() -> None:
    run = begun(11, 9)
    taken = [entry["taken"] for entry in run.history]
    assert 0 < sum(taken) < 9
    assert run.scheduler.last_epoch == sum(taken)


def test_an_action_that_fails_is_named_and_a_stub_passes_through() -> None:
    def stub() -> None:
        raise NotImplementedError

    assert tried(copy.copy, 1) == ""
    assert tried(int, "x") == "ValueError"
    with pytest.raises(NotImplementedError):
        tried(stub)
