"""Errors against the typed number, and what a format makes of it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import get_format
from ampcourse.widgets.bits import words
from ampcourse.widgets.bits.deviation import deviation, fate

decimals = st.decimals(-60000, 60000, allow_nan=False).map(str)


@given(decimals)
def test_the_error_is_value_minus_number_in_numpys_ulps(text: str) -> None:
    decoded = decode(encode(text, "fp16"), "fp16")
    error = deviation(decoded, text)
    assert error.absolute == Fraction(decoded.value) - Fraction(text)
    # numpy.spacing is the distance to the next number away from zero: one ulp.
    spacing = Fraction(float(np.spacing(np.float16(abs(decoded.value)))))
    assert error.ulps == error.absolute / spacing
    assert abs(error.ulps) <= Fraction(1, 2)


def test_right_bits_count_the_leading_bits_that_survive() -> None:
    def right_bits(text: str, name: str) -> float | None:
        return deviation(decode(encode(text, name), name), text).right_bits

    assert right_bits("0.5", "fp16") is None
    assert right_bits("0.1", "fp16") == 12.0  # the relative error is 2^-12 exactly
    # An error of at most half an ulp leaves p bits or more, here of a relative error of 2^-54.
    error = Fraction(1e-300) / Fraction("1e-300") - 1
    assert right_bits("1e-300", "fp64") == pytest.approx(-math.log2(abs(error)))
    assert right_bits("1e-9", "e4m3") == 0.0


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("nan", "fp16", words.NAN_ERROR),
        ("1000", "e4m3", words.NAN_ERROR),
        ("65520", "fp16", words.INFINITE_ERROR),
        ("inf", "e2m1", words.INFINITE_ERROR),
        ("1e1000000000000000000", "e2m1", words.FAR_ERROR),
    ],
)
def test_where_there_is_no_error_the_reason_is_given(text: str, name: str, reason: str) -> None:
    error = deviation(decode(encode(text, name), name), text)
    assert error.absolute is None
    assert error.reason == reason


def test_an_infinity_that_was_typed_is_held_exactly() -> None:
    assert deviation(decode(0xFC00, "fp16"), "-inf").absolute == 0
    assert deviation(decode(0xFC00, "fp16"), "inf").reason == words.INFINITE_ERROR


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("0.1", "fp16", ""),
        ("65519", "fp16", ""),
        ("65520", "fp16", words.OVERFLOW),
        ("-inf", "fp16", ""),
        ("1e-8", "fp16", words.UNDERFLOW),
        ("1e-7", "fp16", words.SUBNORMAL),
        ("1000", "e4m3", words.OVERFLOW_NAN),
        ("inf", "e4m3", words.OVERFLOW_NAN),
        ("-1000", "e2m1", words.at_largest("-6")),
        ("0", "e8m0", words.NO_ZERO),
        ("-2", "e8m0", words.NO_SIGN),
        ("1e-60", "e8m0", words.at_smallest("≈ 5.87747 × 10^{-39}")),
        ("nan", "fp16", ""),
    ],
)
def test_what_becomes_of_a_number_is_said_in_words(text: str, name: str, said: str) -> None:
    assert fate(encode(text, name), get_format(name), text) == said


def test_nothing_is_said_once_the_bits_are_not_the_typed_numbers() -> None:
    assert fate(0x7C01, get_format("fp16"), "65520") == ""
    assert fate(0x7BFF, get_format("fp16"), "65520") == ""


def test_malformed_text_is_refused() -> None:
    with pytest.raises(ValueError, match="position"):
        deviation(decode(0, "fp16"), "1,5")
    assert math.isnan(decode(0x7C01, "fp16").value)
