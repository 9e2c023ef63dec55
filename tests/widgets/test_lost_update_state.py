"""What becomes of w + Δ: held against gfloat's rounding and numpy's grid of numbers."""

from __future__ import annotations

import doctest
import random
from fractions import Fraction

import numpy as np
import pytest
from gfloat import RoundMode, round_float
from gfloat.formats import (
    format_info_bfloat16,
    format_info_binary16,
    format_info_binary32,
    format_info_ocp_e4m3,
)
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ampcourse.formats import FP16
from ampcourse.widgets.update import state as update_state
from ampcourse.widgets.update.line import update_line
from ampcourse.widgets.update.readout import readout, rows, verdict
from ampcourse.widgets.update.state import PER_BINADE, UpdateState, ordinal

GFLOAT_FORMATS = {
    "fp16": format_info_binary16,
    "bf16": format_info_bfloat16,
    "fp32": format_info_binary32,
    "e4m3": format_info_ocp_e4m3,
}
GFLOAT_MODES = {
    "nearest_even": RoundMode.TiesToEven,
    "toward_zero": RoundMode.TowardZero,
    "up": RoundMode.TowardPositive,
    "down": RoundMode.TowardNegative,
}
#: Every number of fp16, in order.
GRID = np.unique(np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64))
GRID = GRID[np.isfinite(GRID)]

halves = st.integers(0, 0x7BFF).map(lambda code: float(np.uint16(code).view(np.float16)))
weights = st.builds(lambda size, sign: sign * size, halves, st.sampled_from([1.0, -1.0]))
# Quarters of fp16's smallest number: the sum with any fp16 weight is exact in float64.
changes = st.integers(-(2**41), 2**41).map(lambda units: units * 2.0**-26)


def state(w: float, change: float, mode: str = "nearest_even", fmt: str = "fp16") -> UpdateState:
    return UpdateState.of(fmt, w.hex(), change.hex(), mode)


@pytest.mark.parametrize("mode", GFLOAT_MODES)
@given(w=weights, change=changes)
def test_the_rounded_sum_is_gfloats(mode: str, w: float, change: float) -> None:
    assert Fraction(w) + Fraction(change) == Fraction(w + change)
    expected = round_float(format_info_binary16, w + change, GFLOAT_MODES[mode])
    assert state(w, change, mode).result.value == expected


@pytest.mark.parametrize("fmt", GFLOAT_FORMATS)
@pytest.mark.parametrize("mode", GFLOAT_MODES)
def test_the_rounded_sum_is_gfloats_in_every_format_offered(fmt: str, mode: str) -> None:
    generator = random.Random(7)
    for _ in range(40):
        w = generator.choice([1.0, -1.0, 0.75, 1.5, -208.0, 2.0**-6])
        # 20 bits below w: exact in float64.
        change = w * generator.randrange(-(2**20), 2**20) * 2.0 ** -generator.randrange(18, 29)
        expected = round_float(GFLOAT_FORMATS[fmt], w + change, GFLOAT_MODES[mode])
        result = state(w, change, mode, fmt).result.value
        assert result == expected or (result != result and expected != expected), (w, change)


@pytest.mark.parametrize("mode", GFLOAT_MODES)
@example(w=0.0, up=True)
@example(w=0.0, up=False)
@example(w=65504.0, up=True)
@example(w=-65504.0, up=False)
@given(w=weights, up=st.booleans())
def test_an_update_is_lost_up_to_the_limit_that_is_told_and_not_beyond(
    mode: str, w: float, up: bool
) -> None:
    limit, included = state(w, 0.0, mode).lost_up if up else state(w, 0.0, mode).lost_down
    sign = 1 if up else -1

    def is_lost(size: Fraction) -> bool:
        total = w + float(sign * size)
        assert Fraction(total) == Fraction(w) + sign * size
        return round_float(format_info_binary16, total, GFLOAT_MODES[mode]) == w

    if limit is None:
        assert abs(w) == 65504
        assert all(is_lost(Fraction(2) ** e) for e in (4, 5, 30))
        return
    little = Fraction(1, 2**30)
    assert is_lost(limit) == included
    assert not is_lost(limit + little)
    assert limit == 0 or is_lost(limit - little)


@pytest.mark.parametrize(
    ("w", "delta", "lost"),
    [
        # The 2048 rule is one-sided: 1/2048 is lost upward, and downward only half of it.
        (1.0, 2.0**-11, True),
        (1.0, 2.0**-11 + 2.0**-30, False),
        (1.0, -(2.0**-11), False),
        (1.0, -(2.0**-12), True),
        # Just below a power of two the same rule reaches nearly 4096.
        (2.0 - 2.0**-10, 2.0**-11, False),
        (2048.0, 1.0, True),
        (2050.0, 1.0, False),
    ],
)
def test_the_rule_of_2048_holds_on_one_side_only(w: float, delta: float, lost: bool) -> None:
    assert state(w, delta).lost == lost
    assert (np.float16(w + delta) == np.float16(w)) == lost


@given(w=weights, change=changes)
def test_stochastic_rounding_expects_the_exact_sum_between_two_neighbours(
    w: float, change: float
) -> None:
    assume(abs(w + change) <= 65504)
    it = state(w, change, "stochastic")
    low, high = it.around
    p = it.probability_up
    assert (1 - p) * low + p * high == Fraction(w) + Fraction(change)
    place = np.searchsorted(GRID, w + change, side="right") - 1
    assert float(low) == GRID[place]
    assert float(high) == (GRID[place] if GRID[place] == w + change else GRID[place + 1])


@pytest.mark.parametrize(("delta", "up"), [("0x1p-12", 0.25), ("-0x1.8p-12", 0.25), ("0", 0.0)])
def test_draws_keep_to_their_probability(delta: str, up: float) -> None:
    it = UpdateState.of("fp16", 1, delta, "stochastic").drawn(random.Random(1), 4000)
    assert sum(it.draws) == 4000
    sigma = (up * (1 - up) / 4000) ** 0.5
    assert abs(it.draws[1] / 4000 - up) <= 4 * sigma
    assert it.result.fraction == it.around[int(it.drawn_up)]


def test_draws_repeat_from_a_seed_and_end_with_the_question() -> None:
    it = UpdateState.of("fp16", 1, "0.0003", "stochastic")
    first, second = (it.drawn(random.Random(5), 50) for _ in range(2))
    assert first.draws == second.draws
    for other in (
        first.with_delta("0.0004"), first.with_w("2"), first.with_format("bf16"),
        first.with_mode("stochastic"),
    ):  # fmt: skip
        assert other.draws == (0, 0)


def test_a_stochastic_sum_above_the_largest_number_can_overflow() -> None:
    it = UpdateState.of("fp16", 65504, 16, "stochastic")
    assert it.probability_up == Fraction(1, 2)
    results = {it.drawn(random.Random(seed)).result.value for seed in range(20)}
    assert results == {65504.0, float("inf")}


@pytest.mark.parametrize("w", ["1", "-1", "0", "65504", "0x1p-24", "0.3"])
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "e4m3", "fp32", "fp64", "e2m1", "e5m2"])
def test_every_slider_position_is_exact_larger_than_the_last_and_found_again(
    w: str, fmt: str
) -> None:
    it, last = UpdateState.of(fmt, w, "-1", "nearest_even"), Fraction(0)
    for position in range(it.slider_end + 1):
        it = it.slid(position)
        assert it.slider_position == position
        assert it.negative
        assert -it.change > last
        last = -it.change


@pytest.mark.parametrize("w", ["1", "-1", "0", "65504", "0x1p-24", "0.3"])
@pytest.mark.parametrize("fmt", ["fp16", "e4m3", "fp32", "fp64", "e2m1"])
@pytest.mark.parametrize("mode", [*GFLOAT_MODES, "stochastic"])
def test_there_is_something_to_tell_and_to_draw_all_along_the_slider(
    w: str, fmt: str, mode: str
) -> None:
    it = UpdateState.of(fmt, w, "-1", mode)
    for position in (0, it.slider_end // 3, it.slider_end):
        told = readout(it.slid(position))
        assert told["sentence"].endswith(".")
        assert told["line"]["marks"]


def test_the_slider_stops_on_both_ties_and_just_above_them() -> None:
    it = UpdateState.of("fp16", 1, 1, "nearest_even")
    reached = {it.slid(position).change for position in range(it.slider_end + 1)}
    for tie in (Fraction(1, 2**11), Fraction(1, 2**12)):
        assert {tie, tie * (1 + Fraction(1, PER_BINADE))} <= reached


@given(w=weights, change=changes)
def test_the_line_has_the_numbers_of_the_format_at_their_places(w: float, change: float) -> None:
    it = state(w, change)
    line = update_line(it)
    marks = [place for place, _ in line["marks"]]
    assert len(marks) <= 98
    assert 0 <= min(marks, default=0) <= max(marks, default=0) <= 1
    for place in (line["exact"], line["w"][0]):
        assert 0.05 < place < 0.95
    if line["every"]:
        return
    # From two places that are known, the line's scale; then every number of numpy's grid.
    half = max(4 * float(max(it.gap_above, it.gap_below)), 0.0)
    while abs(change) * 8 > half * 7:
        half *= 2
    left, right = np.searchsorted(GRID, [w - half, np.nextafter(w + half, np.inf)])
    expected = (GRID[left:right] - (w - half)) / (2 * half)
    assert marks == pytest.approx(expected, abs=1e-5)


def test_the_gaps_double_at_a_power_of_two_and_the_line_says_so() -> None:
    line = update_line(UpdateState.of("fp16", 1, "0.001", "nearest_even"))
    left = [place for place, _ in line["marks"] if place <= 0.5]
    right = [place for place, _ in line["marks"] if place >= 0.5]
    assert set(np.diff(right)) == {2 * step for step in set(np.diff(left))}
    assert [text for _, text in line["spacings"]] == ["gap 2^{-11}", "gap 2^{-10}"]
    assert [border for place, border in line["marks"] if place == 0.5] == [True]


@pytest.mark.parametrize(
    ("mode", "delta", "told"),
    [
        ("nearest_even", "0.0001", "lost"),
        ("nearest_even", "0.001", "moved 1 step up"),
        ("nearest_even", "-0.001", "moved 2 steps down"),
        ("down", "-1e-300", "moved 1 step down"),
        ("toward_zero", "-1e-300", "moved 1 step down"),
        ("up", "1e-300", "moved 1 step up"),
        ("nearest_even", "0", "nothing to add"),
        ("nearest_even", "70000", "overflow"),
    ],
)
def test_the_verdict_in_words(mode: str, delta: str, told: str) -> None:
    assert verdict(UpdateState.of("fp16", 1, delta, mode)) == told


@pytest.mark.parametrize("mode", [*GFLOAT_MODES, "stochastic"])
def test_nothing_is_lost_where_nothing_is_added(mode: str) -> None:
    it = UpdateState.of("fp16", 1, "-0", mode)
    assert (it.lost, it.result.value, verdict(it)) == (False, 1.0, "nothing to add")


def test_the_limits_tell_the_ratio_on_each_side() -> None:
    told = {row.key: row.markup for row in rows(UpdateState.of("fp16", 1, 0.001, "nearest_even"))}
    assert told["lost_up"] == "|Δ| up to 2^{-11}, |w / Δ| ≥ 2048"
    assert told["lost_down"] == "|Δ| up to 2^{-12}, |w / Δ| ≥ 4096"
    odd = {
        row.key: row.markup for row in rows(UpdateState.of("fp16", 1 + 2.0**-10, 1, "nearest_even"))
    }
    assert odd["lost_up"] == "|Δ| below 2^{-11}, |w / Δ| > 2050"


@pytest.mark.parametrize(
    ("mode", "down", "up", "maybe"),
    [
        ("nearest_even", 2.0**-12, 2.0**-11, False),
        ("toward_zero", 0, 2.0**-10, False),
        ("down", 0, 2.0**-10, False),
        ("up", 2.0**-11, 0, False),
        ("stochastic", 2.0**-11, 2.0**-10, True),
    ],
)
def test_the_hatching_covers_the_sums_that_are_rounded_to_w(
    mode: str, down: float, up: float, maybe: bool
) -> None:
    # Four gaps of 2^-10 on each side of 1 are in view.
    zone = update_line(UpdateState.of("fp16", 1, "0.001", mode))["zone"]
    places = [0.5 - down * 2**7, 0.5 + up * 2**7]
    assert (zone["ends"], zone["maybe"]) == (places, maybe)


def test_order_of_the_values_is_that_of_their_ordinals() -> None:
    codes = [c for c in range(1 << 16) if c & 0x7FFF <= FP16.largest_code]
    values = np.array(codes, np.uint16).view(np.float16).astype(np.float64)
    order = np.array([ordinal(code, FP16) for code in codes])
    assert (np.sign(order[1:] - order[:-1]) == np.sign(values[1:] - values[:-1])).all()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("fp17", 1, 1, "up"), "fp17"),
        (("e8m0", 1, 1, "up"), "no sign"),
        (("fp16", 1, 1, "nearest"), "the modes here"),
        (("fp16", "1..5", 1, "up"), "position 2"),
        (("fp16", float("inf"), 1, "up"), "w = inf is not a finite number"),
        (("fp16", 1, float("nan"), "up"), "Δ = nan is not a finite number"),
        (("fp16", 1, "1e-1000000", "up"), "lies beyond"),
    ],
)
def test_bad_input_is_named(arguments: tuple[str, str, str, str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        UpdateState.of(*arguments)


def test_docstring_examples_hold() -> None:
    result = doctest.testmod(update_state)
    assert result.attempted > 0
    assert result.failed == 0
