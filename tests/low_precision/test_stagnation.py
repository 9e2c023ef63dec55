"""What BF16 does with small updates: torch's own BF16 as the oracle, and what cures it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from ampcourse.low_precision.stagnation import WAYS, add_repeatedly, train_bf16, updated


@pytest.mark.parametrize(
    ("start", "step", "count", "end"), [(1.0, 1e-3, 1000, 1.0), (200.0, 1.0, 100, 256.0)]
)
def test_rounding_to_nearest_stagnates_where_torchs_bfloat16_does(
    start: float, step: float, count: int, end: float
) -> None:
    weight = torch.tensor(start, dtype=torch.bfloat16)
    theirs = [weight.item()]
    for _ in range(count):
        weight += step
        theirs.append(weight.item())
    assert add_repeatedly(start, step, count) == theirs
    assert theirs[-1] == end


def test_fp32_masters_arrive_and_their_bf16_copy_is_rounded_once() -> None:
    assert add_repeatedly(200.0, 1.0, 100, "master")[-1] == 300.0
    kept = torch.tensor(1.0)
    theirs = [1.0]
    for _ in range(1000):
        kept = kept + 1e-3
        theirs.append(kept.bfloat16().item())
    assert add_repeatedly(1.0, 1e-3, 1000, "master") == theirs
    assert theirs[-1] == 2.0


def test_stochastic_rounding_arrives_on_average() -> None:
    ends = [add_repeatedly(200.0, 1.0, 100, "stochastic", seed)[-1] for seed in range(40)]
    # From 256 on a step of 1 is up by 2 with probability 1/2: at most sqrt(100) = 10 of deviation.
    assert abs(sum(ends) / 40 - 300) < 5 * 10 / 40**0.5
    assert len(set(ends)) > 1
    assert add_repeatedly(1.0, 1e-3, 50, "stochastic", 3) == add_repeatedly(
        1.0, 1e-3, 50, "stochastic", 3
    )


def test_an_update_is_rounded_to_one_of_two_neighbours() -> None:
    kept, change = torch.full((4000,), 1.0), torch.full((4000,), 2.0**-9)
    generator = torch.Generator().manual_seed(0)
    drawn = updated(kept, change, "stochastic", generator)
    assert set(drawn.tolist()) == {1.0, 1 + 2.0**-7}
    # A quarter of an ulp: up with probability 1/4.
    up = (drawn > 1).double().mean().item()
    assert abs(up - 0.25) < 5 * (0.25 * 0.75 / 4000) ** 0.5
    assert torch.equal(updated(kept, change, "nearest"), kept)
    assert torch.equal(updated(kept, change, "master"), kept + change)


def test_a_net_with_bf16_weights_stagnates_and_both_cures_help() -> None:
    runs = {way: train_bf16(way, steps=60) for way in WAYS}
    end = {way: sum(run.losses[-10:]) / 10 for way, run in runs.items()}
    assert end["nearest"] > end["stochastic"] + 0.1
    assert end["nearest"] > end["master"] + 0.1
    assert abs(end["stochastic"] - end["master"]) < 0.1
    assert runs["nearest"].lost[-1] > 0.5
    assert runs["master"].lost[-1] < 0.01
    assert len({run.losses[0] for run in runs.values()}) == 1
    assert all(len(run.losses) == len(run.lost) == 60 for run in runs.values())


def test_the_weights_of_a_step_are_bf16_in_each_way() -> None:
    assert train_bf16("nearest", 5).losses == train_bf16("nearest", 5).losses
    assert train_bf16("nearest", 5, seed=1).losses != train_bf16("nearest", 5).losses


def test_an_unknown_way_is_named() -> None:
    with pytest.raises(ValueError, match="way = 'up' is unknown; it is one of nearest"):
        add_repeatedly(1.0, 1.0, 1, "up")
    with pytest.raises(ValueError, match="way = 'up' is unknown"):
        train_bf16("up", 1)
