"""Small sums of powers: Python's own arithmetic on fractions is the oracle."""

import doctest
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.number_text import NumberTextError
from ampcourse.widgets import power_text
from ampcourse.widgets.power_text import read_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^11", Fraction(2048)),
        ("-2**11", Fraction(-2048)),
        ("3·2^-14", Fraction(3, 2**14)),
        ("3 × 2^(-14)", Fraction(3, 2**14)),
        ("1 - 2^-24", 1 - Fraction(1, 2**24)),
        ("-(1−2^-24)", Fraction(1, 2**24) - 1),
        ("1.5*2^-3/3", Fraction(1, 16)),
        ("0x1.8p-3 + 1e2", Fraction(1603, 16)),
        (" .5 ", Fraction(1, 2)),
    ],
)
def test_sums_products_and_powers_are_exact(text: str, value: Fraction) -> None:
    assert read_number(text) == value


def test_the_sign_of_zero_and_the_specials_stay() -> None:
    assert math.copysign(1, read_number("-0")) == -1
    assert read_number("-inf") == -math.inf
    assert math.isnan(read_number("nan"))


_numbers = st.integers(0, 99).map(str) | st.tuples(st.integers(1, 9), st.integers(-9, 9)).map(
    lambda pair: f"{pair[0]}^{pair[1]}"
)
_sums = st.recursive(
    _numbers,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({''.join(t)})"),
    max_leaves=6,
)


@given(_sums)
def test_precedence_is_that_of_python(text: str) -> None:
    import re

    python = re.sub(r"(\d+)", r"Fraction(\1)", text).replace("^", "**")
    # An exponent must be an int to Fraction; Fraction(2) is one too, since it is whole.
    assert read_number(text) == eval(python, {"Fraction": Fraction})


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "a number is expected"),
        ("2^", 2, "whole exponent"),
        ("2^0.5", 3, "end before"),
        ("1.5x3", 3, "end before"),
        ("(1", 2, "closing bracket"),
        ("1 +", 3, "a number is expected"),
        ("1/0", 2, "divides by zero"),
        ("0^-1", 2, "divides by zero"),
        ("2^99999", 2, "whole exponent"),
        ("2^1201", 2, "from -1200 to 1200"),
        ("1+" * 80 + "1", 120, "over 120 characters"),
    ],
)
def test_a_malformed_text_shows_where(text: str, position: int, reason: str) -> None:
    with pytest.raises(NumberTextError, match=reason) as caught:
        read_number(text)
    assert caught.value.position == position


def test_docstring_examples_hold() -> None:
    assert doctest.testmod(power_text).failed == 0
