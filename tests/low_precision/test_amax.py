"""Scales and histories against torch's FP8 types and Transformer Engine's rules, said anew."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.low_precision import AmaxHistory, scale_for

TORCH = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
FP32 = st.floats(min_value=2.0**-149, max_value=torch.finfo(torch.float32).max, width=32)


@pytest.mark.parametrize("fmt", list(TORCH))
@given(amax=FP32)
def test_the_scale_is_the_largest_power_of_two_that_clips_nothing(fmt: str, amax: float) -> None:
    largest = torch.finfo(TORCH[fmt]).max
    scale = scale_for(amax, fmt)
    assert math.frexp(scale)[0] == 0.5
    assert amax * scale <= largest
    assert 2 * amax * scale > largest or scale == 2.0**126


@pytest.mark.parametrize("fmt", list(TORCH))
@given(amax=FP32.filter(lambda amax: amax > 2.0**-100))
def test_the_scale_is_fp32s_quotient_without_its_significand(fmt: str, amax: float) -> None:
    # What Transformer Engine's kernel does for scales that are powers of two (recipe_common.cuh):
    # divide in FP32, keep the exponent field. It may come out a binade larger where the quotient
    # was rounded up to a power of two.
    quotient = torch.tensor(torch.finfo(TORCH[fmt]).max) / torch.tensor(amax)
    kept = (quotient.view(torch.int32) & 0x7F800000).view(torch.float32).item()
    if kept * amax <= torch.finfo(TORCH[fmt]).max:
        assert scale_for(amax, fmt) == kept
    else:
        assert scale_for(amax, fmt) == kept / 2
        assert quotient.item() == kept


@given(amax=FP32)
def test_a_scaled_amax_survives_torchs_cast_and_the_next_power_of_two_does_not(
    amax: float,
) -> None:
    scale = scale_for(amax, "e5m2")
    assert math.isfinite(torch.tensor(amax * scale).to(torch.float8_e5m2).float().item())
    doubled = 4 * amax * scale  # well above 57344, where E5M2 of torch has infinity
    if scale < 2.0**126:
        assert math.isinf(torch.tensor(doubled).to(torch.float8_e5m2).float().item())


def test_nearest_power_of_two_would_clip_where_ours_does_not() -> None:
    amax = 300.0
    nearest = 2.0 ** round(math.log2(448 / amax))
    assert amax * nearest > 448
    assert amax * scale_for(amax) <= 448


def test_a_margin_leaves_powers_of_two() -> None:
    assert [scale_for(1.0, "e4m3", margin) for margin in (0, 1, 4, -1)] == [256, 128, 16, 512]
    with pytest.raises(TypeError, match=r"margin = 0\.5 is no int"):
        scale_for(1.0, "e4m3", 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("amax", [0.0, -0.0, math.inf, math.nan])
def test_an_amax_that_says_nothing_keeps_the_scale(amax: float) -> None:
    assert scale_for(amax) == 1.0
    assert scale_for(amax, previous=0.125) == 0.125


def test_scales_stay_where_fp32_has_their_reciprocals() -> None:
    assert scale_for(2.0**-149) == 2.0**126
    assert scale_for(1e300) == 2.0**-126
    assert torch.tensor(1 / scale_for(2.0**-149)).item() == 2.0**-126


def test_a_negative_amax_is_refused() -> None:
    with pytest.raises(ValueError, match=r"amax = -1\.0 is negative"):
        scale_for(-1.0)
    with pytest.raises(ValueError, match=r"amax = -1\.0 is negative"):
        AmaxHistory().push(-1.0)
    with pytest.raises(ValueError, match="length = 0 is below 1"):
        AmaxHistory(0)


def delayed_scales(amaxes: list[float], length: int) -> list[float]:
    """Return the scales of Transformer Engine's rule, written down with torch alone.

    The largest of the window by fmax, which passes over NaN; the old scale where that is 0 or
    infinite.
    """
    scale, scales = 1.0, []
    for step in range(len(amaxes)):
        window = torch.tensor(amaxes[max(0, step - length + 1) : step + 1])
        largest = torch.tensor(0.0)
        for amax in window:
            largest = torch.fmax(largest, amax)
        if 0 < largest < math.inf:
            scale = 2.0 ** math.floor(math.log2(448 / largest.item()))
        scales.append(scale)
    return scales


@pytest.mark.parametrize("length", [1, 2, 5, 16])
def test_the_history_follows_transformer_engines_rule(length: int) -> None:
    generator = torch.Generator().manual_seed(length)
    exponents = torch.randint(-20, 20, (200,), generator=generator)
    amaxes = (torch.rand(200, generator=generator) + 1.01).mul(2.0**exponents).tolist()
    for place, value in zip(range(7, 200, 12), [0.0, math.inf, math.nan] * 20, strict=False):
        amaxes[place] = value
    history, found = AmaxHistory(length), []
    for amax in amaxes:
        history.push(amax)
        found.append(history.scale("e4m3"))
    assert found == delayed_scales(amaxes, length)
    assert history.length == length
    assert len(history.steps) == length


def test_the_scale_of_a_step_never_knows_that_step() -> None:
    history = AmaxHistory(4)
    assert history.scale() == 1.0
    history.push(1.0)
    before = history.scale()
    jump = 1000.0
    assert jump * before > 448  # clipped in this step
    history.push(jump)
    assert jump * history.scale() <= 448  # and not in the next


def test_a_jump_down_is_noticed_when_the_large_one_has_left() -> None:
    history = AmaxHistory(3)
    scales = []
    for amax in (100.0, 1.0, 1.0, 1.0):
        history.push(amax)
        scales.append(history.scale())
    assert scales == [4.0, 4.0, 4.0, 256.0]


def test_an_infinity_holds_the_scale_until_it_has_left_and_a_nan_is_ignored() -> None:
    history = AmaxHistory(2)
    scales = []
    for amax in (1.0, math.inf, 4.0, 4.0, math.nan, 1.0, 1.0):
        history.push(amax)
        scales.append(history.scale())
    assert scales == [256.0, 256.0, 256.0, 64.0, 64.0, 256.0, 256.0]
