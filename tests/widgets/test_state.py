"""What each gesture makes of the explorer's state, held against struct and ml_dtypes."""

import math
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.formats import FORMATS, FP64, get_format, ieee_like
from ampcourse.widgets.bits.state import BitState


def fp16(value: str = "0.1") -> BitState:
    return BitState.of("fp16", value)


@given(st.integers(0, 0xFFFF), st.integers(0, 15))
def test_a_flip_changes_one_bit_and_the_value_follows(code: int, bit: int) -> None:
    state = fp16().with_code(code).flipped(bit)
    assert state.code == code ^ (1 << bit)
    (expected,) = struct.unpack("<e", state.code.to_bytes(2, "little"))
    assert np.float64(state.value).tobytes() == np.float64(expected).tobytes() or math.isnan(
        expected
    )


@given(st.integers(0, 0xFFFF), st.integers(0, 15), st.booleans())
def test_setting_a_bit_twice_is_setting_it_once(code: int, bit: int, one: bool) -> None:
    state = fp16().with_code(code).with_bit(bit, one)
    assert bool(state.code >> bit & 1) is one
    assert state.with_bit(bit, one) == state
    assert state.code ^ code in (0, 1 << bit)


def test_a_field_is_replaced_and_the_others_stay() -> None:
    state = fp16("-0.1")
    assert state.with_exponent_field(31).code == 0xFE66
    assert state.with_significand_field(1).code == 0xAC01


@pytest.mark.parametrize("field", [-1, 32])
def test_an_exponent_that_does_not_fit_is_refused_with_the_width(field: int) -> None:
    with pytest.raises(ValueError, match=rf"{field} does not fit a field of 5 bits"):
        fp16().with_exponent_field(field)


def test_the_number_survives_a_narrow_format() -> None:
    state = fp16().with_format("e2m1").with_format("fp64")
    assert state.value == 0.1


def test_edited_bits_are_what_a_change_of_format_keeps() -> None:
    edited = fp16().flipped(0)
    assert edited.with_format("fp64").value == edited.value
    assert edited.typed == "0.1"


def test_a_typed_number_is_rounded_once_in_each_format() -> None:
    # Through FP32 this text would end at 1: the first row of the double-rounding table.
    state = BitState.of("fp32", "1.00048828218")
    assert state.with_format("fp16").code == 0x3C01


def test_a_nan_becomes_zero_with_a_note_where_there_is_none_and_comes_back() -> None:
    narrow = fp16("nan").with_format("e2m1")
    assert narrow.code == 0
    assert "no NaN" in narrow.note
    assert narrow.with_format("fp16").code == 0x7E00
    assert not narrow.flipped(0).note


@pytest.mark.parametrize(("widths", "taken"), [((1, 0), (2, 1)), ((12, 60), (11, 52))])
def test_widths_stay_within_what_ieee_like_takes(
    widths: tuple[int, int], taken: tuple[int, int]
) -> None:
    state = fp16().with_widths(*widths)
    assert state.format == ieee_like(*taken)
    assert state.custom


def test_the_widest_widths_are_binary64() -> None:
    state = fp16().with_widths(11, 52)
    assert state.code == struct.unpack("<Q", struct.pack("<d", 0.1))[0]


def test_custom_leaves_ocp_rules_and_a_preset_brings_them_back() -> None:
    state = BitState.of("e4m3", "448")
    assert not state.custom
    assert state.as_custom().value == math.inf  # IEEE's rules end at 240
    assert state.as_custom().with_format("e4m3") == state
    assert BitState.of("e8m0", "2").as_custom().format == ieee_like(8, 1)


@pytest.mark.parametrize("name", [n for n, f in FORMATS.items() if f.bits <= 8])
def test_stepping_up_walks_through_every_value_in_order(name: str) -> None:
    fmt = get_format(name)
    state = BitState.of(fmt, "1")
    while (lower := state.stepped(up=False)) != state:
        state = lower
    values = [state.value]
    while (higher := state.stepped(up=True)) != state:
        state = higher
        values.append(state.value)
    dtype = np.dtype(getattr(ml_dtypes, fmt.library_name or ""))
    every = np.arange(1 << fmt.bits, dtype=np.uint8).view(dtype).astype(float)
    assert values == sorted(set(every[~np.isnan(every)].tolist()))


def test_flipping_the_sign_of_an_unsigned_format_changes_nothing() -> None:
    state = BitState.of("e8m0", "4")
    assert state.negated().code == state.code
    assert fp16().negated().value == -fp16().value


def test_malformed_text_raises_and_the_old_state_is_untouched() -> None:
    state = fp16()
    with pytest.raises(ValueError, match="position 3"):
        state.with_typed("1.5x")
    assert state == fp16()


def test_a_number_given_as_a_float_is_that_float() -> None:
    assert BitState.of(FP64, 0.1).typed == "0.1"
    assert BitState.of("fp16", 2).code == 0x4000
