"""Number text: the grammar, held against Python's float(), and the errors that show a place."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.number_text import NumberTextError, Numeral, decimal_text, parse_number

GOOD = [
    "0", "-0", "+0.0", "7", "0.1", ".5", "5.", "1e5", "1E-8", "-12.50e+3", "1_000.5", "1e1_0",
    "000012", "  3.5\t", "inf", "-INF", "Infinity", "+infinity", "nan", "-NaN",
]  # fmt: skip
GOOD_HEX = ["0x1.8p-3", "0X1P4", "-0x.8", "0xff", "0x1.", "0x1.8", "0x0p0", "+0xA.bp+1"]


def value(numeral: Numeral) -> Fraction:
    coefficient = int(numeral.digits, 10 if numeral.base == 10 else 16)
    return (-1) ** numeral.sign * coefficient * Fraction(numeral.base) ** numeral.exponent


@pytest.mark.parametrize("text", GOOD)
def test_decimal_text_that_python_reads_is_read_alike(text: str) -> None:
    numeral = parse_number(text)
    expected = Decimal(text)
    assert numeral.sign == int(expected.is_signed())
    if expected.is_finite():
        assert value(numeral) == Fraction(expected)
    else:
        assert numeral.kind == ("nan" if expected.is_nan() else "infinity")


@pytest.mark.parametrize("text", GOOD_HEX)
def test_hexadecimal_text_is_read_as_float_fromhex_reads_it(text: str) -> None:
    assert value(parse_number(text)) == Fraction(float.fromhex(text))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints_for_a_double_is_read_back(x: float) -> None:
    assert value(parse_number(repr(x))) == Fraction(repr(x))
    assert value(parse_number(x.hex())) == Fraction(x)


MALFORMED = [
    ("", 0, "a digit, inf or nan is expected"),
    ("   ", 3, "a digit, inf or nan is expected"),
    ("-", 1, "a digit, inf or nan is expected"),
    (".", 1, "a digit, inf or nan is expected"),
    ("abc", 0, "a digit, inf or nan is expected"),
    ("--1", 1, "a digit, inf or nan is expected"),
    ("−1", 0, "a digit, inf or nan is expected"),
    ("1e", 2, "the exponent needs a digit"),
    ("1.5e+", 5, "the exponent needs a digit"),
    ("1e5.5", 3, "should end before '.'"),
    ("1.2.3", 3, "should end before '.'"),
    ("1,5", 1, "should end before ','"),
    ("1/3", 1, "should end before '/'"),
    ("1 000", 2, "should end before '0'"),
    ("1__0", 1, "should end before '_'"),
    ("_1", 0, "a digit, inf or nan is expected"),
    ("1_", 1, "should end before '_'"),
    ("infin", 3, "should end before 'i'"),
    ("ınf", 0, "a digit, inf or nan is expected"),
    ("nan(1)", 3, "should end before '('"),
    ("0x", 2, "a hexadecimal digit is expected"),
    ("0xg", 2, "a hexadecimal digit is expected"),
    ("0x1.8p", 6, "the exponent needs a digit"),
    ("0x1p1.5", 5, "should end before '.'"),
    ("0b101", 1, "should end before 'b'"),
    ("1.5p3", 3, "should end before 'p'"),
    ("١٢", 0, "a digit, inf or nan is expected"),
    ("1\n2", 2, "should end before '2'"),
]


@pytest.mark.parametrize(("text", "position", "reason"), MALFORMED)
def test_malformed_text_is_refused_with_the_place_and_the_reason(
    text: str, position: int, reason: str
) -> None:
    with pytest.raises(NumberTextError) as caught:
        parse_number(text)
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert reason in error.reason
    first, shown, caret = str(error).split("\n")
    assert first == f"not a number: {error.reason} (position {position})"
    assert caret.index("^") == 4 + position
    if position < len(text):
        assert shown[caret.index("^")] == text[position]


def test_the_place_in_a_long_text_is_shown_in_a_window() -> None:
    text = "1" * 5000 + "x" + "2" * 5000
    with pytest.raises(NumberTextError) as caught:
        parse_number(text)
    _, shown, caret = str(caught.value).split("\n")
    assert caught.value.position == 5000
    assert len(shown) < 80
    assert shown[caret.index("^")] == "x"


def test_the_error_is_a_value_error_and_survives_pickling() -> None:
    with pytest.raises(ValueError, match="not a number") as caught:
        parse_number("1e")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.position) == (str(caught.value), 2)


def test_neither_digits_nor_exponents_are_lost_or_capped_in_the_range_of_memory() -> None:
    numeral = parse_number("-" + "7" * 10_000 + ".5e-1000000000000000000")
    assert numeral.digits == "7" * 10_000 + "5"
    assert numeral.exponent == -(10**18) - 1
    assert parse_number("1e" + "9" * 10_000).exponent == 10**25


@given(st.integers(), st.integers(0, 1100))
def test_decimal_text_is_exact(numerator: int, places: int) -> None:
    x = Fraction(numerator, 2**places)
    text = decimal_text(x)
    assert Fraction(text) == x
    assert not ("." in text and text.endswith("0"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_decimal_text_of_a_double_is_what_decimal_prints_in_full(x: float) -> None:
    expected = f"{Decimal(x):f}"
    if x == 0:
        expected = "0"
    assert decimal_text(Fraction(x)) == expected


def test_a_fraction_without_a_finite_binary_form_is_refused() -> None:
    with pytest.raises(ValueError, match="1/3 is not an integer times a power of two"):
        decimal_text(Fraction(1, 3))
