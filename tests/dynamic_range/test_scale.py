"""Headroom and the best power of two, against trying all scales with torch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from ampcourse.dynamic_range import best_power_of_two_scale, exponent_histogram, headroom
from ampcourse.formats import FORMATS


def largest_scale_by_trying(x: torch.Tensor, headroom_bits: int = 0) -> float:
    """Return the largest power of two at which torch's float16 has no infinity."""
    fits = [
        2.0**k
        for k in range(-60, 90)
        if not torch.isinf((x.double() * 2.0 ** (k + headroom_bits)).float().half()).any()
    ]
    return max(fits)


@pytest.mark.parametrize("largest", [1.0, 65504.0, 65519.0, 65520.0, 65536.0, 1e-5, 0.75, 1.9999])
def test_the_best_scale_is_the_largest_without_overflow_by_trying(largest: float) -> None:
    x = torch.tensor([largest, -largest / 3, 1e-9, 0.0])
    for bits in (0, 1, 3):
        best = largest_scale_by_trying(x, bits)
        assert best_power_of_two_scale(x, "fp16", headroom_bits=bits) == best
        assert best_power_of_two_scale(exponent_histogram(x), headroom_bits=bits) == best


@pytest.mark.parametrize("name", [n for n, fmt in FORMATS.items() if fmt.has_zero])
def test_headroom_ends_at_the_largest_number_of_a_format(name: str) -> None:
    largest = float(FORMATS[name].max)
    assert headroom([largest], name) == 0
    assert headroom([-largest / 4], name) == 2
    assert headroom([largest], name, scale=0.5) == 1


def test_a_tie_above_the_largest_number_overflows_only_where_it_rounds_up() -> None:
    assert headroom([65520.0], "fp16") == -1
    assert headroom([464.0], "e4m3") == 0
    assert headroom([464.0001], "e4m3") == -1


def test_what_is_not_finite_is_left_out_and_zeros_alone_have_no_scale() -> None:
    assert best_power_of_two_scale([np.inf, np.nan, 1.0], "fp16") == 2.0**15
    for nothing in ([0.0, -0.0], [], [np.inf]):
        with pytest.raises(ValueError, match="no finite value differs from zero"):
            best_power_of_two_scale(nothing)


def test_the_scale_stays_a_float_for_the_smallest_and_the_largest_numbers() -> None:
    assert best_power_of_two_scale([5e-324], "fp16") == 2.0**1023
    assert best_power_of_two_scale([1.7e308], "fp16") == 2.0**-1008
