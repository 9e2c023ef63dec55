"""What holds for any numbers, format and mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ampcourse.encode import Overflow
from ampcourse.formats import FORMATS, FloatFormat, ieee_like
from ampcourse.quantize import decode_array, encode_array, quantize
from ampcourse.rounding import MODES
from tests.quantize.points import bits

WIDTHS = st.tuples(st.integers(2, 8), st.integers(1, 23)).map(lambda w: ieee_like(*w))
ANY_FORMAT = st.sampled_from([f for f in FORMATS.values() if f.name != "fp64"]) | WIDTHS
SIGNED = ANY_FORMAT.filter(lambda fmt: fmt.signed)
ANY_MODE = st.sampled_from(MODES)
SYMMETRIC = st.sampled_from([mode for mode in MODES if mode not in ("up", "down")])
FLUSH = st.booleans()


def floats(dtype: Any = np.float32) -> st.SearchStrategy[Any]:
    return arrays.arrays(dtype, st.integers(1, 20), elements={"allow_nan": False})


ANY_FLOATS = floats(np.float32) | floats(np.float64)


@given(ANY_FLOATS, SIGNED, ANY_MODE, FLUSH)
def test_monotonic(x: Any, fmt: FloatFormat, mode: str, subnormals: bool) -> None:
    every: tuple[Overflow, ...] = (None, "infinity", "saturate")
    for overflow in every if fmt.has_infinity else every[2:]:
        found = quantize(np.sort(x), fmt, mode, overflow, subnormals)
        assert (found[:-1] <= found[1:]).all()


@given(ANY_FLOATS, ANY_FORMAT, ANY_MODE, ANY_MODE, FLUSH)
def test_idempotent_in_any_second_mode(
    x: Any, fmt: FloatFormat, mode: str, second: str, subnormals: bool
) -> None:
    once = quantize(x, fmt, mode, "saturate", subnormals)
    assert (bits(quantize(once, fmt, second, "saturate", subnormals)) == bits(once)).all()


@given(ANY_FLOATS, SIGNED, SYMMETRIC, FLUSH)
def test_sign_symmetric(x: Any, fmt: FloatFormat, mode: str, subnormals: bool) -> None:
    found, mirrored = (quantize(y, fmt, mode, None, subnormals) for y in (x, -x))
    assert (bits(-mirrored) == bits(found)).all()


@given(ANY_FLOATS, SIGNED)
def test_up_of_the_negative_is_the_negative_of_down(x: Any, fmt: FloatFormat) -> None:
    assert (bits(-quantize(-x, fmt, "up")) == bits(quantize(x, fmt, "down"))).all()


@given(ANY_FLOATS, SIGNED)
def test_directed_modes_bracket_the_number_and_hold_all_other_results(
    x: Any, fmt: FloatFormat
) -> None:
    x = x[np.abs(x.astype(float)) <= float(fmt.max)]
    down, up = (quantize(x, fmt, mode).astype(float) for mode in ("down", "up"))
    assert ((down <= x) & (x <= up)).all()
    for mode in MODES:
        found = quantize(x, fmt, mode, "saturate").astype(float)
        assert ((found == down) | (found == up)).all()
    steps = encode_array(up, fmt).astype(int) - encode_array(down, fmt).astype(int)
    assert ((np.abs(steps) <= 1) | (up == 0) | (down == 0)).all()


@given(ANY_FLOATS, ANY_FORMAT, ANY_MODE, FLUSH)
def test_values_are_those_of_the_codes(
    x: Any, fmt: FloatFormat, mode: str, subnormals: bool
) -> None:
    values = quantize(x, fmt, mode, "saturate", subnormals).astype(np.float64)
    codes = encode_array(x, fmt, mode, "saturate", subnormals)
    assert (bits(decode_array(codes, fmt, "float64")) == bits(values)).all()
    assert (encode_array(values, fmt) == codes).all()


@given(floats(np.float64), st.integers(2, 5), st.integers(1, 10))
def test_rounding_to_odd_in_fp32_first_does_no_harm(x: Any, w: int, t: int) -> None:
    fmt = ieee_like(w, t)
    odd = quantize(x, "fp32", "to_odd")
    assert (bits(quantize(odd, fmt)) == bits(quantize(x, fmt))).all()
