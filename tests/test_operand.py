"""Operands: every kind of input to an exact number, quickly however large it is."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import FORMATS, FP16, FP64
from ampcourse.number_text import NumberTextError
from ampcourse.operand import Operand, read_operand

HUGE = 10**18


@given(st.fractions())
def test_text_fraction_decimal_and_float_mean_the_same_number(x: Fraction) -> None:
    assert read_operand(x).fraction == x
    double = float(x)
    for same in (double, Decimal(double), double.hex(), str(Decimal(double)), Fraction(double)):
        assert read_operand(same).fraction == Fraction(double)
        assert read_operand(same).exact


def test_sign_and_kind_are_read_apart_from_the_magnitude() -> None:
    assert read_operand(-0.0) == read_operand("-0") == Operand(1, "finite", Fraction(0))
    assert read_operand(-math.inf) == read_operand("-inf") == Operand(1, "infinity")
    assert read_operand(Decimal("-Infinity")) == Operand(1, "infinity")
    assert read_operand(-math.nan) == read_operand(Decimal("-sNaN5")) == Operand(1, "nan")
    assert read_operand(-3) == Operand(1, "finite", Fraction(3))
    assert read_operand("-0").is_zero
    assert not read_operand("inf").is_zero


#: Each with the sign of its exponent: beyond every format, or below every format.
GIANTS = [
    (f"1e{HUGE}", 1),
    (f"1e-{HUGE}", -1),
    (f"0x1p{HUGE}", 1),
    (f"0x1p-{HUGE}", -1),
    ("1e" + "9" * 10_000, 1),
    ("1e-" + "9" * 10_000, -1),
    ("0." + "0" * 10_000 + f"1e{HUGE}", 1),
    ("9" * 10_000 + f"e-{HUGE}", -1),
    (Decimal(f"1e{HUGE - 1}"), 1),
    (Decimal(f"1e-{HUGE - 1}"), -1),
    (10**100_000, 1),
    (Fraction(1, 10**100_000), -1),
    (Fraction(10**100_000, 7), 1),
]


@pytest.mark.timeout(10)
@pytest.mark.parametrize(("x", "size"), GIANTS, ids=range(len(GIANTS)))
@pytest.mark.parametrize("name", ["fp64", "fp16", "e4m3", "e2m1"])
def test_giant_exponents_and_integers_round_at_once_and_right(x: Any, size: int, name: str) -> None:
    fmt = FORMATS[name]
    assert not read_operand(x).exact
    if size > 0:
        assert encode(x, fmt) == (fmt.infinity_code or fmt.nan_code or fmt.largest_code)
        assert encode(x, fmt, "toward_zero") == fmt.largest_code
    else:
        assert encode(x, fmt) == encode(x, fmt, "down") == 0
        assert encode(x, fmt, "up") == 1
    if isinstance(x, str):
        assert encode("-" + x, fmt) == fmt.sign_mask | encode(x, fmt)
        assert encode("-" + x, fmt, "down") == fmt.sign_mask | encode(x, fmt, "up")


def test_zero_with_a_giant_exponent_is_zero() -> None:
    for text in (f"0e{HUGE}", f"-0.000e-{HUGE}", f"0x0p{HUGE}", "0e" + "9" * 10_000):
        assert read_operand(text).is_zero
        assert read_operand(text).exact
    assert encode(Decimal((1, (0,), HUGE - 1)), FP16) == 0x8000


@pytest.mark.timeout(10)
@pytest.mark.parametrize("zeros", [10, 400, 5_000, 100_000])
def test_a_long_shift_and_an_exponent_that_cancel_give_one(zeros: int) -> None:
    assert encode("0." + "0" * zeros + f"1e{zeros + 1}", FP16) == 0x3C00
    assert encode("1" + "0" * zeros + f"e-{zeros}", FP16) == 0x3C00
    assert encode("0x0." + "0" * zeros + f"1p{4 * zeros + 4}", FP16) == 0x3C00
    assert encode("0x1" + "0" * zeros + f"p-{4 * zeros}", FP16) == 0x3C00


def python_fp64(text: str) -> int:
    return struct.unpack("<Q", struct.pack("<d", float(text)))[0]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("numerator", [1, 3, 2**52 - 1, 2**53 - 1, 2**53 + 1])
@pytest.mark.parametrize("exponent", [-1075, -1074, -1000])
def test_ten_thousand_digits_around_a_midpoint_decide_it_as_python_does(
    numerator: int, exponent: int
) -> None:
    middle = f"{exact_decimal(numerator, exponent):f}"
    for text in (
        middle,
        middle + "0" * 10_000,
        middle + "0" * 10_000 + "1",
        middle[:-1] + str(int(middle[-1]) - 1) + "9" * 10_000,
    ):
        assert encode(text, FP64) == python_fp64(text)
        assert encode("-" + text, FP64) == python_fp64("-" + text)


def exact_decimal(numerator: int, exponent: int) -> Decimal:
    digits = str(numerator * 5**-exponent)
    return Decimal((0, tuple(map(int, digits)), exponent))


def test_no_midpoint_of_any_format_needs_more_digits_than_are_kept() -> None:
    largest_odd = (2**54 - 1) * Fraction(1, 2**1075)
    digits = str(largest_odd.numerator * 5**1075)
    assert len(digits) < 800


@pytest.mark.timeout(10)
@pytest.mark.parametrize("places", [700, 797, 798, 799, 800, 801, 5_000, 1_000_000])
def test_a_digit_after_those_that_are_kept_still_counts(places: int) -> None:
    decimal_tie = "1.00048828125".ljust(places, "0")  # 1 + 2^-11
    hexadecimal_tie = "0x1.002".ljust(places, "0")
    for tie in (decimal_tie, hexadecimal_tie):
        assert encode(tie, FP16) == 0x3C00
        assert encode(tie + "1", FP16) == 0x3C01
        assert encode(tie + "1" + "0" * places, FP16) == 0x3C01
        assert read_operand(tie).fraction == 1 + Fraction(1, 2**11)
    assert encode(Decimal(decimal_tie + "1"), FP16) == 0x3C01


@given(st.text("0123456789", min_size=1, max_size=900), st.integers(-1100, 300))
def test_long_decimal_text_becomes_fp64_as_python_reads_it(digits: str, exponent: int) -> None:
    text = f"{digits}e{exponent}"
    assert encode(text, FP64) == python_fp64(text)


@given(st.text("0123456789abcdef", min_size=1, max_size=900), st.integers(-4600, 1000))
def test_long_hexadecimal_text_becomes_fp64_as_python_reads_it(digits: str, power: int) -> None:
    text = f"0x{digits}p{power}"
    try:
        expected = float.fromhex(text)
    except OverflowError:
        expected = math.inf
    assert encode(text, FP64) == struct.unpack("<Q", struct.pack("<d", expected))[0]


@pytest.mark.parametrize("x", [True, False])
def test_a_bool_is_no_number(x: bool) -> None:
    with pytest.raises(TypeError, match=f"{x} is a bool, not a number"):
        encode(x, FP16)


@pytest.mark.parametrize("x", [None, b"1", 1j, [1], (1,), object()])
def test_other_types_are_refused_with_what_is_taken(x: Any) -> None:
    with pytest.raises(TypeError, match="pass an int, float, Fraction, Decimal or text"):
        encode(x, FP16)


def test_malformed_text_reaches_the_caller_with_its_place() -> None:
    with pytest.raises(NumberTextError, match="position 3"):
        encode("1.5x", FP16)


def test_numpy_scalars_are_numbers_of_their_exact_value_but_arrays_and_bools_are_not() -> None:
    numpy = pytest.importorskip("numpy")
    for x in (numpy.float32(0.1), numpy.float16(-0.0), numpy.float64(5e-324), numpy.int64(-7)):
        assert read_operand(x).fraction == Fraction(float(x))
        assert read_operand(x).sign == int(numpy.signbit(x))
    assert read_operand(numpy.float32("nan")).kind == "nan"
    assert read_operand(numpy.float16("-inf")) == Operand(1, "infinity")
    third = numpy.longdouble(1) / 3
    assert read_operand(third).fraction == Fraction(*third.as_integer_ratio())
    for x in (numpy.bool_(True), numpy.array([1.0])):
        with pytest.raises(TypeError):
            encode(x, FP16)


def test_what_decode_gives_can_be_encoded_in_every_form() -> None:
    found = decode(0x2E66, FP16)
    assert found.fraction is not None
    for x in (found.value, found.fraction, found.decimal_text, found.value.hex()):
        assert encode(x, FP16) == 0x2E66
