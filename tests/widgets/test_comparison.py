"""One number in eight formats: the codes are those of ml_dtypes and numpy."""

import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.widgets.bits import words
from ampcourse.widgets.bits.comparison import compare


@given(st.floats(width=32, min_value=-400, max_value=400, allow_nan=False))
def test_codes_are_those_of_the_libraries(value: float) -> None:
    # numpy and ml_dtypes round a double once, so from a float32 they are an oracle.
    found = compare(repr(value))
    assert found["fp32"].code == struct.unpack("<I", struct.pack("<f", value))[0]
    oracles = {
        "fp16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "e4m3": ml_dtypes.float8_e4m3fn,
        "e5m2": ml_dtypes.float8_e5m2,
        "e2m1": ml_dtypes.float4_e2m1fn,
    }
    for name, dtype in oracles.items():
        code = np.array(value).astype(dtype)
        assert found[name].code == int(code.view(f"u{code.itemsize}")), name


def test_the_eight_formats_stand_in_the_order_of_the_course() -> None:
    assert list(compare("1")) == ["fp32", "tf32", "bf16", "fp16", "e4m3", "e5m2", "e2m1", "e8m0"]


def test_a_format_without_nan_says_so_and_shows_no_bits() -> None:
    row = compare("nan")["e2m1"]
    assert row.code is None
    assert row.fate == words.NO_NAN
    assert {digits for _, digits in row.as_data()["fields"]} == {""}


@pytest.mark.parametrize(
    ("name", "error"),
    [("fp32", "0, exact"), ("tf32", "≈ 0.000183"), ("fp16", "infinite"), ("e4m3", "none")],
)
def test_the_relative_error_of_a_milliard(name: str, error: str) -> None:
    assert compare("1e9")[name].error_text == error


def test_bits_fill_the_fields_of_the_format() -> None:
    data = compare("-1.5")["bf16"].as_data()
    assert data["fields"] == [["sign", "1"], ["exponent", "01111111"], ["significand", "1000000"]]


def test_malformed_text_is_refused_for_all_formats_at_once() -> None:
    with pytest.raises(ValueError, match="position 2"):
        compare("1..5")
