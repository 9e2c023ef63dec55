"""The pure rule moves a scale as torch's kernel does, to the last bit."""

from __future__ import annotations

import doctest
import math
import random
import struct
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch

from ampcourse.amp import loss_scale
from ampcourse.amp.loss_scale import LossScale, to_float32, update

LARGEST = float(np.finfo(np.float32).max)


def torch_update(
    state: LossScale, found_inf: bool, growth: float, backoff: float, interval: int
) -> LossScale:
    """Return what torch's kernel makes of a state."""
    scale = torch.full((), state.scale, dtype=torch.float32)
    tracker = torch.full((), state.growth_tracker, dtype=torch.int32)
    found = torch.full((), float(found_inf))
    torch._amp_update_scale_(scale, tracker, found, growth, backoff, interval)
    return LossScale(scale.item(), int(tracker.item()))


def bits(x: float) -> str:
    return struct.pack(">d", x).hex()


def test_docstring_examples_hold() -> None:
    result = doctest.testmod(loss_scale)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_rule_needs_nothing_but_python() -> None:
    code = "import ampcourse.amp, ampcourse.amp.loss_scale, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "numpy"} & set(done.stdout.split())


def test_the_start_is_torchs() -> None:
    scaler = torch.amp.GradScaler("cpu")
    assert LossScale() == LossScale(scaler.get_scale(), scaler._get_growth_tracker())


def test_any_state_moves_as_in_torchs_kernel() -> None:
    rng = random.Random(5)
    for _ in range(20_000):
        scale = to_float32(2.0 ** rng.uniform(-149, 128))
        interval = rng.choice([1, 2, 3, 2000])
        state = LossScale(scale, rng.choice([0, 1, interval - 1, interval, interval + 1]))
        found_inf = rng.random() < 0.5
        growth = rng.choice([2.0, 1.1, 1 + 2.0**-30, 1 + rng.random(), 1e300])
        backoff = rng.choice([0.5, 0.9, 1 / 3, rng.random()])
        ours = update(state, found_inf, growth, backoff, interval)
        theirs = torch_update(state, found_inf, growth, backoff, interval)
        assert bits(ours.scale) == bits(theirs.scale), (state, found_inf, growth, backoff, interval)
        assert ours.growth_tracker == theirs.growth_tracker


@pytest.mark.parametrize("found_inf", [True, False])
@pytest.mark.parametrize("scale", [0.0, 2.0**-149, 2.0**127, LARGEST, math.inf, math.nan])
def test_the_ends_of_float32_are_torchs(scale: float, found_inf: bool) -> None:
    state = LossScale(scale, 0)
    ours = update(state, found_inf, growth_interval=1)
    theirs = torch_update(state, found_inf, 2.0, 0.5, 1)
    assert bits(ours.scale) == bits(theirs.scale)
    assert ours.growth_tracker == theirs.growth_tracker


def test_a_scale_that_would_grow_to_infinity_stays_and_starts_counting_again() -> None:
    assert update(LossScale(2.0**127, 4), False, growth_interval=5) == LossScale(2.0**127, 0)


def test_growth_needs_good_steps_in_a_row() -> None:
    state = LossScale(8.0)
    for found_inf in [False, False, True, False, False]:
        state = update(state, found_inf, growth_interval=3)
    assert state == LossScale(4.0, 2)
    assert update(state, False, growth_interval=3) == LossScale(8.0, 0)


def test_an_interval_that_is_already_passed_is_never_reached() -> None:
    # torch compares for equality, which shows after set_growth_interval to a smaller one.
    assert update(LossScale(8.0, 10), False, growth_interval=5) == LossScale(8.0, 11)


def test_a_state_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        LossScale().scale = 1.0  # type: ignore[misc]


def test_float32_is_rounded_as_numpy_does() -> None:
    rng = random.Random(1)
    numbers = [2.0 ** rng.uniform(-155, 129) * rng.choice([-1, 1]) for _ in range(10_000)]
    midpoint = LARGEST + 2.0**103
    numbers += [0.0, -0.0, math.inf, -math.inf, LARGEST, midpoint, math.nextafter(midpoint, 0)]
    with np.errstate(over="ignore"):
        assert [bits(to_float32(x)) for x in numbers] == [
            bits(float(np.float32(x))) for x in numbers
        ]
    assert math.isnan(to_float32(math.nan))
