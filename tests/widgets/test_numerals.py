"""How numbers are written: every digit right, nothing lost but what is marked as left out."""

import doctest
import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.widgets import numerals

finite = st.floats(allow_nan=False, allow_infinity=False)


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(numerals).failed == 0


@given(finite)
def test_exact_text_is_the_value_of_the_float_and_nothing_else(value: float) -> None:
    text = numerals.exact(value)
    assert Decimal(text) == Decimal(value)
    assert math.copysign(1, float(text)) == math.copysign(1, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (65504.0, "65504"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (1e20, "100000000000000000000"),
        (1e21, "1e21"),
        (-(2.0**-8), "-0.00390625"),
        (2.0**-24, "5.9604644775390625e-8"),
    ],
)
def test_exact_text_reads_as_a_person_would_write_it(value: float, text: str) -> None:
    assert numerals.exact(value) == text


@given(st.fractions(max_denominator=10**9).filter(bool))
def test_about_is_right_to_the_digits_it_shows_and_says_when_it_rounds(value: Fraction) -> None:
    text = numerals.about(value)
    shown = Fraction(text.removeprefix("≈ "))
    if text.startswith("≈"):
        assert shown != value
        assert abs(shown - value) <= abs(value) * Fraction(5, 10**6)
    else:
        assert shown == value


def test_about_takes_numbers_that_int_and_str_refuse() -> None:
    assert numerals.about(Fraction(1, 10**6000)) == "1e-6000"
    assert numerals.about(Fraction(10**6000 + 1)) == "≈ 1e6000"


@given(finite.filter(bool))
def test_the_power_form_is_the_value(value: float) -> None:
    exact = Fraction(value)
    quantum = -exact.denominator.bit_length() + 1
    text = numerals.plain(numerals.power_form(exact, quantum))
    match = re.fullmatch(r"(-?\d+)(?:/2(?:\^(\d+))?)?", text)
    assert match
    divisor = 1 if "/" not in text else 2 ** int(match[2] or 1)
    assert Fraction(int(match[1]), divisor) == exact


@given(finite)
def test_shortening_keeps_both_ends_and_counts_what_it_hides(value: float) -> None:
    full = numerals.exact(value)
    short = numerals.shorten(full)
    match = re.fullmatch(r"(.*) …\((\d+) digits\)… (.*)", short)
    if match is None:
        assert short == full
        return
    head, hidden, tail = match[1], int(match[2]), match[3]
    assert full.startswith(head)
    assert full.endswith(tail)
    assert len(head) + hidden + len(tail) == len(full)


def test_digits_for_a_precision_tell_neighbours_apart() -> None:
    for precision in (11, 24, 53):
        with localcontext() as context:
            context.prec = numerals.digits_for(precision)
            below = [Fraction(1) - Fraction(k, 2**precision) for k in range(50)]
            shown = {+(Decimal(b.numerator) / Decimal(b.denominator)) for b in below}
        assert len(shown) == 50


def test_log2_refuses_what_is_no_power_of_two() -> None:
    assert [numerals.log2_exact(Fraction(2) ** e) for e in (-1074, 0, 3)] == [-1074, 0, 3]
    with pytest.raises(ValueError, match="3 is not a power of two"):
        numerals.log2_exact(Fraction(3))


def test_a_screen_reader_gets_words_and_no_markup() -> None:
    assert numerals.spoken("≈ -1.5 × 10^{-8}") == "about -1.5e-8"
