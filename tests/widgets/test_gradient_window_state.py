"""What the gradient window tells of a histogram: held against numpy's casts of the values."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.dynamic_range import exponent_histogram
from ampcourse.widgets.window.readout import readout
from ampcourse.widgets.window.recording import Recording
from ampcourse.widgets.window.state import WindowState

DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "e5m2": ml_dtypes.float8_e5m2}


def gradients(seed: int = 3, count: int = 3000, center: float = -20.0) -> np.ndarray:
    """Return float32 values around 2^center: some zeros, powers of two and ties among them."""
    rng = np.random.default_rng(seed)
    exponents = center + 5 * rng.standard_normal(count)
    values = (rng.choice([-1.0, 1.0], count) * 2.0**exponents).astype(np.float32)
    values[::7] = 0
    values[1::9] = 2.0 ** np.round(np.log2(np.abs(values[1::9]) + 1e-12))
    return values


def cast(values: np.ndarray, fmt: str, shift: int) -> np.ndarray:
    """Return scaled values as the format's library rounds them; scaling them is exact."""
    scaled = (values.astype(np.float64) * 2.0**shift).astype(np.float32)
    with np.errstate(over="ignore"):
        return scaled.astype(DTYPES[fmt]).astype(np.float64)


def shown(values: np.ndarray, fmt: str = "fp16", shift: int = 0) -> tuple[WindowState, Any]:
    state = WindowState.of(exponent_histogram(values, "layer"), fmt, 2.0**shift)
    return state, readout(state)


@pytest.mark.parametrize("fmt", DTYPES)
@pytest.mark.parametrize("shift", [0, 5, 13, 24])
def test_the_shares_are_those_of_the_librarys_cast(fmt: str, shift: int) -> None:
    values = gradients()
    rounded = cast(values, fmt, shift)
    told = {each["kind"]: each["share"] for each in shown(values, fmt, shift)[1]["classes"]}
    assert told["zeros"] == np.mean(values == 0)
    assert told["flushed"] == np.mean((rounded == 0) & (values != 0))
    assert math.isclose(sum(told.values()), 1, rel_tol=0, abs_tol=2**-40)
    overflown = np.mean(np.isinf(rounded))
    uncertain = shown(values, fmt, shift)[0].report.may_overflow / len(values)
    assert told["overflow"] <= overflown <= told["overflow"] + uncertain


@pytest.mark.parametrize("shift", [0, 1, 3, 8])
def test_a_bar_is_hatched_as_far_as_its_values_round_to_zero(shift: int) -> None:
    values = gradients(center=-24)
    rounded = cast(values, "fp16", shift)
    _, told = shown(values, "fp16", shift)
    exponents = np.frexp(values)[1] - 1
    top = max(np.unique(exponents[values != 0], return_counts=True)[1])
    for bar in told["bars"]:
        of_bar = (exponents == bar["key"]) & (values != 0)
        flushed = np.sum(of_bar & (rounded == 0))
        assert bar["flushed"] * top == pytest.approx(flushed, abs=2**-30)
        assert (bar["kept"] + bar["flushed"]) * top == pytest.approx(np.sum(of_bar), abs=2**-30)


def test_half_the_smallest_number_is_flushed_and_anything_above_it_is_not() -> None:
    state, told = shown(
        np.array([2.0**-25, 1.0001 * 2.0**-25, -1.9 * 2.0**-25, 2.0**-24], np.float32)
    )
    tie = next(bar for bar in told["bars"] if bar["key"] == -25)
    assert (tie["flushed"], tie["kept"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert state.report.flushed == 1
    assert state.with_shift(1).report.flushed == 0


def test_a_factor_of_eight_rescues_the_three_binades_below_the_smallest() -> None:
    values = np.array([2.0**-27 * f for f in (1.001, 1.5, 3, 7)], np.float32)
    state, _ = shown(values)
    assert (state.report.flushed, state.with_scale(8).report.flushed) == (3, 0)
    assert np.count_nonzero(values.astype(np.float16)) == 1
    assert np.count_nonzero((8 * values).astype(np.float16)) == 4


def test_bars_move_right_and_the_window_stays() -> None:
    values = gradients()
    _, before = shown(values, shift=0)
    _, after = shown(values, shift=5)
    assert before["regions"] == after["regions"]
    moved = {bar["key"]: bar["at"][0] for bar in after["bars"]}
    low, high = Recording.of(exponent_histogram(values)).axis
    for bar in before["bars"]:
        if bar["at"][0] > 0:
            assert moved[bar["key"]] - bar["at"][0] == pytest.approx(5 / (high - low), abs=2e-5)


@pytest.mark.parametrize(
    ("fmt", "kinds", "edges"),
    [
        ("fp16", ["below", "subnormal", "normal", "above"], [-24, -14, 16]),
        ("bf16", ["normal"], []),
        ("e4m3", ["below", "subnormal", "normal", "above"], [-9, -6, 9]),
        ("e5m2", ["below", "subnormal", "normal", "above"], [-16, -14, 16]),
    ],
)
def test_the_window_is_that_of_the_format(fmt: str, kinds: list[str], edges: list[int]) -> None:
    state = WindowState.of(exponent_histogram(gradients()), fmt, 1)
    told = readout(state)
    assert [region["kind"] for region in told["regions"]] == kinds
    assert [tick["exponent"] for tick in told["ticks"] if tick["edge"]] == edges
    low, high = state.recording.axis
    starts = [region["at"][0] for region in told["regions"]][1:]
    assert starts == [round((edge - low) / (high - low), 5) for edge in edges]


def test_what_lies_beyond_the_axis_is_in_the_outermost_bars() -> None:
    state, told = shown(np.array([2.0**-149, 2.0**-120, 1.5 * 2.0**-80, 1.0, 2.0**60], np.float32))
    places = [bar["at"] for bar in told["bars"]]
    assert min(at[0] for at in places) == 0
    assert max(at[1] for at in places) == 1
    assert state.recording.axis == (-80, 40)
    assert sum(bar["kept"] + bar["flushed"] for bar in told["bars"]) >= 3
    assert "-80 and beyond" in told["bars"][0]["title"]


def test_the_axis_has_room_for_the_largest_scale() -> None:
    _, told = shown(np.array([2.0**-40, 1.5 * 2.0**10], np.float32), shift=24)
    assert [bar["at"][1] < 1 for bar in told["bars"]] == [True] * len(told["bars"])
    assert not any("beyond" in bar["title"] for bar in told["bars"])


def test_log_heights_lift_the_small_bars_and_keep_the_tallest() -> None:
    state, told = shown(gradients())
    logarithmic = readout(state.with_height("log"))
    pairs = zip(told["bars"], logarithmic["bars"], strict=True)
    for share, log in pairs:
        low, lifted = (bar["kept"] + bar["flushed"] for bar in (share, log))
        assert lifted > low or low in (0, 1)
    assert max(bar["kept"] + bar["flushed"] for bar in logarithmic["bars"]) == 1


@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), max_size=30))
def test_any_values_can_be_shown_at_any_scale(values: list[float]) -> None:
    state = WindowState.of(exponent_histogram(values), "fp16", 1)
    for shift in (0, 7, 24):
        told = readout(state.with_shift(shift))
        for bar in told["bars"]:
            assert 0 <= bar["at"][0] < bar["at"][1] <= 1
            assert 0 <= bar["kept"] + bar["flushed"] <= 1 + 2**-40
        finite = [v for v in values if v and math.isfinite(v)]
        told_headroom = dict(_rows(state.with_shift(shift)))["headroom"]
        assert ("none" in told_headroom) == (not finite)


@pytest.mark.parametrize(("largest", "doublings"), [(1.0, 15), (65519.0, 0), (65520.0, -1)])
def test_the_headroom_is_told_in_binades(largest: float, doublings: int) -> None:
    state, told = shown(np.array([1e-3, -largest], np.float32))
    assert state.headroom == doublings
    assert np.isfinite(np.float16(largest * 2.0**doublings))
    with np.errstate(over="ignore"):
        assert np.isinf(np.float16(largest * 2.0 ** (doublings + 1)))
    plural = "" if abs(doublings) == 1 else "s"
    assert told["sentence"].endswith(f"headroom {doublings} binade{plural}.")


def test_shares_are_nothing_and_all_only_where_that_is_so() -> None:
    from ampcourse.widgets.window.words import percent

    pairs = ((0, 9), (1, 10**6), (1, 1500), (1, 3), (10**6 - 1, 10**6), (7, 7))
    told = [percent(*pair) for pair in pairs]
    assert told == ["0 %", "< 0.1 %", "< 0.1 %", "33.3 %", "> 99.9 %", "100 %"]


def _rows(state: WindowState) -> list[tuple[str, str]]:
    from ampcourse.widgets.window.readout import rows

    return rows(state)


# What may be shown


def test_histograms_come_alone_by_layer_by_step_and_as_plain_data() -> None:
    a, b = (exponent_histogram(gradients(seed), name) for seed, name in ((1, "a"), (2, "b")))
    assert Recording.of(a).steps == {0: {"a": a}}
    assert Recording.of([a, b]).steps == {0: {"a": a, "b": b}}
    assert Recording.of({"x": a, "y": b}).steps == {0: {"x": a, "y": b}}
    assert Recording.of({7: [a, b], 3: a}).steps == {3: {"a": a}, 7: {"a": a, "b": b}}
    assert list(Recording.of({7: a, 3: b}).steps) == [3, 7]
    for plain in (a.as_plain(), [a.as_plain()], {"a": a.as_plain()}, {0: a.as_plain()}):
        assert Recording.of(plain) == Recording.of(a)


def test_an_empty_histogram_is_shown_as_such() -> None:
    state = WindowState.of(exponent_histogram([]), "fp16", 1)
    assert dict(_rows(state))["values"] == "no values"
    assert readout(state)["bars"] == []


@pytest.mark.parametrize(
    ("histograms", "error", "named"),
    [
        (3.5, TypeError, "float is no histogram"),
        ("fp16", TypeError, "str is no histogram"),
        ([1, 2], TypeError, "int is no histogram"),
        ([], ValueError, "no histogram to show"),
        ({}, ValueError, "no histogram to show"),
        ({0: []}, ValueError, "no histogram to show"),
        ([exponent_histogram([1.0], "a")] * 2, ValueError, "two histograms are called 'a'"),
        ({"label": "a", "counts": []}, ValueError, "lacks exponents, powers_of_two, zeros"),
    ],
)
def test_what_is_no_histogram_is_refused(
    histograms: Any, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        Recording.of(histograms)


@pytest.mark.parametrize(
    "wrong",
    [{"exponents": [0, 2]}, {"counts": [1]}, {"powers_of_two": [0]}, {"counts": [1, -1]}],
)
def test_plain_bins_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    plain = exponent_histogram([1.0, 2.0], "a").as_plain() | wrong
    with pytest.raises(ValueError, match="the bins of 'a' do not fit"):
        Recording.of(plain)


@pytest.mark.parametrize("scale", [0, 3, 0.5, 2.0**25, math.nan, -4])
def test_only_powers_of_two_up_to_2_to_the_24_are_scales(scale: float) -> None:
    with pytest.raises(ValueError, match="no power of two from"):
        WindowState.of(exponent_histogram([1.0]), "fp16", scale)


def test_a_format_without_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="e8m0 has no zero"):
        WindowState.of(exponent_histogram([1.0]), "e8m0", 1)
