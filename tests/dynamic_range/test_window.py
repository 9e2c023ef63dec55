"""A histogram seen through a format, against torch rounding the scaled values of each bin."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

import torch

from ampcourse.dynamic_range import exponent_histogram, range_report, scaled_view


def values() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(4000, generator=generator) * 2.0 ** torch.randint(
        -30, 10, (4000,), generator=generator
    )
    powers = 2.0 ** torch.arange(-30, 10)
    return torch.cat([x, powers, -powers, torch.zeros(5), torch.tensor([torch.inf, torch.nan])])


@pytest.mark.parametrize("shift", [-8, 0, 3, 12])
def test_what_is_left_of_each_bin_is_what_torch_does_not_round_to_zero(shift: int) -> None:
    x = values()
    view = scaled_view(exponent_histogram(x), "fp16", 2.0**shift)
    rounded = (x * 2.0**shift).half()
    exponents = torch.frexp(x).exponent - 1 + shift
    usual = x.isfinite() & (x != 0)
    for bar in view.bars:
        inside = usual & (exponents == bar.exponent)
        assert bar.flushed == int((rounded[inside] == 0).sum())
        assert bar.kept == int((rounded[inside] != 0).sum())
    assert view.flushed == sum(bar.flushed for bar in view.bars)
    assert view.flushed == range_report(x, "fp16", 2.0**shift).flushed
    assert (view.zeros, view.infs, view.nans, view.total) == (5, 1, 1, x.numel())


def test_the_window_is_that_of_the_format_and_every_bar_has_its_place() -> None:
    view = scaled_view(exponent_histogram(2.0 ** torch.arange(-30.0, 20)), "fp16")
    assert (view.smallest, view.normal, view.end) == (-24, -14, 16)
    edges = {"below": (-30, -25), "subnormal": (-24, -15), "normal": (-14, 15), "above": (16, 19)}
    for place, ends in edges.items():
        inside = [bar.exponent for bar in view.bars if bar.place == place]
        assert (inside[0], inside[-1]) == ends


def test_a_view_is_plain_data_for_a_front_end() -> None:
    plain = scaled_view(exponent_histogram([1.0, 2.0**-30], "g"), "fp16", 4.0).as_plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["bars"][0] == {"exponent": -28, "kept": 0, "flushed": 1, "place": "below"}


def test_only_powers_of_two_shift_a_histogram() -> None:
    with pytest.raises(ValueError, match="is no power of two"):
        scaled_view(exponent_histogram([1.0]), "fp16", 3.0)
