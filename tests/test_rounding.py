"""The rounding reference, against Python's own roundings and the definitions of the modes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.rounding import MODES, check_mode, floor_log2, round_to_integer, round_to_precision

FRACTIONS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=1000)
POWERS = st.integers(min_value=-1200, max_value=1200)


@given(FRACTIONS)
def test_modes_that_python_has_agree_with_python(x: Fraction) -> None:
    assert round_to_integer(x, "down") == math.floor(x)
    assert round_to_integer(x, "up") == math.ceil(x)
    assert round_to_integer(x, "toward_zero") == math.trunc(x)
    assert round_to_integer(x, "nearest_even") == round(x)


@given(FRACTIONS)
def test_nearest_away_and_to_odd_follow_their_definitions(x: Fraction) -> None:
    away = round_to_integer(x, "nearest_away")
    assert abs(away) == math.floor(abs(x) + Fraction(1, 2))
    assert away * x >= 0
    odd = round_to_integer(x, "to_odd")
    assert odd == x if x.denominator == 1 else odd in (math.floor(x), math.ceil(x)) and odd % 2


def test_ties_are_settled_by_the_mode_on_both_sides_of_zero() -> None:
    ties = [Fraction(n, 2) for n in (-5, -3, -1, 1, 3, 5)]
    assert {mode: [round_to_integer(x, mode) for x in ties] for mode in MODES} == {
        "nearest_even": [-2, -2, 0, 0, 2, 2],
        "nearest_away": [-3, -2, -1, 1, 2, 3],
        "toward_zero": [-2, -1, 0, 0, 1, 2],
        "up": [-2, -1, 0, 1, 2, 3],
        "down": [-3, -2, -1, 0, 1, 2],
        "to_odd": [-3, -1, -1, 1, 1, 3],
    }


@given(FRACTIONS.filter(bool), POWERS)
def test_floor_log2_brackets_the_number_whatever_its_size(x: Fraction, power: int) -> None:
    scaled = x * Fraction(2) ** power
    exponent = floor_log2(scaled)
    assert Fraction(2) ** exponent <= abs(scaled) < Fraction(2) ** (exponent + 1)


@given(POWERS)
def test_floor_log2_is_right_at_the_edge_of_a_binade(power: int) -> None:
    edge = Fraction(2) ** power
    assert floor_log2(edge) == power
    assert floor_log2(edge * Fraction(2**60 - 1, 2**60)) == power - 1
    assert floor_log2(edge * Fraction(2**60 + 1, 2**60)) == power


def test_zero_has_no_exponent_but_rounds_to_itself() -> None:
    with pytest.raises(ValueError, match="0 has no binary exponent"):
        floor_log2(Fraction(0))
    assert round_to_precision(Fraction(0), 11) == 0


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 53), st.sampled_from(MODES))
def test_a_rounded_number_has_the_precision_and_is_a_neighbour(
    x: float, precision: int, mode: str
) -> None:
    exact = Fraction(x)
    rounded = round_to_precision(exact, precision, mode)
    if exact:
        quantum = Fraction(2) ** (floor_log2(exact) - precision + 1)
        assert rounded % quantum == 0
        assert abs(rounded - exact) < quantum
        assert abs(rounded) <= quantum * 2**precision
    if precision == 53:
        assert rounded == exact  # what a double holds


def test_below_emin_the_quantum_stays_that_of_emin() -> None:
    tiny = Fraction(3, 2**26)  # 0.75 of FP16's smallest subnormal
    assert round_to_precision(tiny, 11) == tiny
    assert round_to_precision(tiny, 11, emin=-14) == Fraction(1, 2**24)
    assert round_to_precision(tiny, 11, "toward_zero", emin=-14) == 0


@pytest.mark.parametrize("mode", ["nearest", "Nearest_Even", "rne", "", None])
def test_an_unknown_mode_is_refused_with_the_list_even_for_exact_numbers(mode: Any) -> None:
    for call in (
        lambda: check_mode(mode),
        lambda: round_to_integer(Fraction(1), mode),
        lambda: round_to_precision(Fraction(0), 11, mode),
    ):
        with pytest.raises(
            ValueError, match=r"unknown rounding mode .* the modes are nearest_even"
        ):
            call()


def test_an_unknown_mode_gets_a_suggestion() -> None:
    with pytest.raises(ValueError, match="did you mean 'toward_zero'"):
        check_mode("towards_zero")


@pytest.mark.parametrize("precision", [0, -3])
def test_a_significand_has_at_least_its_leading_bit(precision: int) -> None:
    with pytest.raises(ValueError, match="below 1"):
        round_to_precision(Fraction(1), precision)
