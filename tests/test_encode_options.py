"""encode with subnormals flushed and with stochastic rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.decode import classify, decode
from ampcourse.encode import encode
from ampcourse.formats import E8M0, FORMATS, FP16, FloatFormat, ieee_like
from ampcourse.rounding import MODES, round_to_integer, round_to_precision

WIDTHS = st.tuples(st.integers(2, 11), st.integers(1, 52)).map(lambda w: ieee_like(*w))
ANY_FORMAT = st.sampled_from(list(FORMATS.values())) | WIDTHS
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


class Fixed:
    """A generator that draws one integer for ever."""

    def __init__(self, integer: int) -> None:
        self.integer = integer

    def getrandbits(self, bits: int) -> int:
        return self.integer


@given(DOUBLES, ANY_FORMAT, st.sampled_from(MODES))
def test_flushing_makes_zeros_of_subnormal_results_and_changes_nothing_else(
    x: float, fmt: FloatFormat, mode: str
) -> None:
    kept = encode(x, fmt, mode)
    flushed = encode(x, fmt, mode, subnormals=False)
    subnormal = classify(kept, fmt) == "subnormal"
    assert flushed == (kept & fmt.sign_mask if subnormal else kept)


def test_flushing_looks_at_the_rounded_number() -> None:
    below = Fraction(2**12 - 1, 2**26)  # a quarter of FP16's quantum under 2^-14
    assert encode(below, FP16, subnormals=False) == 0x0400
    assert encode(-below, FP16, "toward_zero", subnormals=False) == 0x8000
    assert encode(below, FP16, "toward_zero") == 0x03FF
    assert encode("1e-30", FP16, "up", subnormals=False) == 0
    assert encode("-1e-30", FP16, "down", subnormals=False) == 0x8000


def test_e8m0_has_nothing_to_flush() -> None:
    assert encode("1e-40", E8M0, subnormals=False) == encode("1e-40", E8M0) == 0


@given(st.fractions(min_value=-50, max_value=50, max_denominator=99), st.integers(1, 7))
def test_of_all_random_integers_the_floor_of_the_fraction_goes_away_from_zero(
    x: Fraction, bits: int
) -> None:
    results = [
        round_to_integer(x, "stochastic", random_bits=bits, generator=Fixed(u))
        for u in range(1 << bits)
    ]
    inner, outer = math.trunc(x), math.trunc(x) + (1 if x > 0 else -1)
    assert set(results) <= {inner, outer}
    assert results.count(outer) == math.floor(abs(x - inner) * 2**bits)


def test_a_fraction_that_the_bits_hold_gives_the_right_mean_on_both_sides_of_zero() -> None:
    for x in (Fraction(21, 8), Fraction(-21, 8)):
        results = [
            round_to_integer(x, "stochastic", random_bits=3, generator=Fixed(u)) for u in range(8)
        ]
        assert Fraction(sum(results), 8) == x


def test_the_mean_of_many_draws_is_the_number() -> None:
    draws, count = Random(7), 20_000
    x = Fraction(-10_003, 10_000)
    found = [
        round_to_precision(x, 8, "stochastic", random_bits=20, generator=draws)
        for _ in range(count)
    ]
    assert set(found) == {Fraction(-1), Fraction(-129, 128)}
    p = float((abs(x) - 1) * 128)
    ups = found.count(Fraction(-129, 128))
    assert abs(ups - count * p) < 6 * math.sqrt(count * p * (1 - p))


def test_without_a_number_of_bits_there_are_32() -> None:
    tiny = Fraction(1, 2**32)
    last = Fixed(2**32 - 1)
    assert round_to_integer(1 + tiny, "stochastic", generator=last) == 2
    assert round_to_integer(1 + tiny / 2, "stochastic", generator=last) == 1


def test_numbers_of_the_format_and_special_ones_draw_nothing() -> None:
    none: Any = Random(0)
    none.getrandbits = None
    for x in (1.0, -0.0, 65504, 2.0**-24, math.inf, -math.inf, math.nan):
        assert encode(x, FP16, "stochastic", generator=none) == encode(x, FP16)


def test_the_module_random_is_the_generator_if_none_is_given() -> None:
    found = {encode(1 + 2**-11, FP16, "stochastic") for _ in range(200)}
    assert found == {0x3C00, 0x3C01}


def test_an_overflow_that_went_up_becomes_infinity_or_what_overflow_says() -> None:
    low, high = Fixed(0), Fixed(2**32 - 1)
    assert encode(65535, FP16, "stochastic", generator=low) == 0x7BFF
    assert encode(65535, FP16, "stochastic", generator=high) == 0x7C00
    assert encode(-65535, FP16, "stochastic", generator=high) == 0xFC00
    assert encode(65535, FP16, "stochastic", "saturate", generator=high) == 0x7BFF
    assert encode(1000, "e4m3", "stochastic", generator=high) == 0x7F
    assert encode(-1000, "e2m1", "stochastic", generator=high) == 0xF


@given(DOUBLES, ANY_FORMAT, st.integers(1, 32), st.integers(0, 2**32 - 1))
def test_stochastic_results_are_neighbours_and_symmetric(
    x: float, fmt: FloatFormat, bits: int, integer: int
) -> None:
    generator = Fixed(integer >> (32 - bits))

    def rounded(number: float) -> int:
        return encode(number, fmt, "stochastic", "saturate", random_bits=bits, generator=generator)

    assert rounded(x) in [encode(x, fmt, mode, "saturate") for mode in ("down", "up")]
    if fmt.signed:
        assert rounded(-x) == rounded(x) ^ fmt.sign_mask


@pytest.mark.parametrize("call", [round_to_integer, lambda x, *a, **k: encode(x, FP16, *a, **k)])
def test_bad_random_bits_and_generators_are_refused(call: Any) -> None:
    x = Fraction(1, 3)
    with pytest.raises(ValueError, match="random_bits = 40 is outside 1 to 32"):
        call(x, "stochastic", random_bits=40)
    with pytest.raises(TypeError, match="random_bits must be an int, not '3'"):
        call(x, "stochastic", random_bits="3")
    with pytest.raises(ValueError, match="mode 'up' draws no random bits"):
        call(x, "up", random_bits=4)
    with pytest.raises(ValueError, match="mode 'up' draws no random bits"):
        call(x, "up", generator=Random(1))
    with pytest.raises(TypeError, match=r"for one number is a random\.Random, not 7"):
        call(x, "stochastic", generator=7)
    with pytest.raises(ValueError, match="did you mean 'stochastic'"):
        call(x, "stochastical")


def test_decoded_results_are_the_two_neighbours_in_proportion() -> None:
    results = [
        decode(encode(0.1, "e4m3", "stochastic", random_bits=4, generator=Fixed(u)), "e4m3").value
        for u in range(16)
    ]
    # 0.1 is 0.8 of the way from 0.09375 to 0.1015625, and floor(0.8 x 16) = 12.
    assert sorted(set(results)) == [0.09375, 0.1015625]
    assert results.count(0.1015625) == 12
