"""The table of formats, against the limits that other libraries and the standards print."""

from __future__ import annotations

import dataclasses
import struct
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from ampcourse import formats
from ampcourse.formats import E4M3, E8M0, FORMATS, FP16, FloatFormat, get_format, ieee_like

NAMES = ["fp64", "fp32", "tf32", "fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"]

#: name: bits, bias, emin, emax, max, smallest. IEEE 754-2019 table 3.5; OFP8 1.0 table 1;
#: MX 1.0 sections 5.3 and 5.4; bfloat16 and TF32 by their widths.
STANDARD = {
    "fp64": (64, 1023, -1022, 1023, Fraction(2**53 - 1) * 2**971, Fraction(1, 2**1074)),
    "fp32": (32, 127, -126, 127, Fraction(2**24 - 1) * 2**104, Fraction(1, 2**149)),
    "tf32": (19, 127, -126, 127, Fraction(2**11 - 1) * 2**117, Fraction(1, 2**136)),
    "fp16": (16, 15, -14, 15, 65504, Fraction(1, 2**24)),
    "bf16": (16, 127, -126, 127, Fraction(2**8 - 1) * 2**120, Fraction(1, 2**133)),
    "e5m2": (8, 15, -14, 15, 57344, Fraction(1, 2**16)),
    "e4m3": (8, 7, -6, 8, 448, Fraction(1, 2**9)),
    "e3m2": (6, 3, -2, 4, 28, Fraction(1, 16)),
    "e2m3": (6, 1, 0, 2, Fraction(15, 2), Fraction(1, 8)),
    "e2m1": (4, 1, 0, 2, 6, Fraction(1, 2)),
    "e8m0": (8, 127, -127, 127, Fraction(2**127), Fraction(1, 2**127)),
}


def test_the_table_holds_every_format_in_its_order_and_cannot_be_changed() -> None:
    assert list(FORMATS) == NAMES
    for name, fmt in FORMATS.items():
        assert fmt.name == name
        assert getattr(formats, name.upper()) is fmt
    with pytest.raises(TypeError):
        FORMATS["fp16"] = E4M3  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        FP16.bias = 16  # type: ignore[misc]


@pytest.mark.parametrize("name", NAMES)
def test_a_format_has_the_parameters_of_its_standard(name: str) -> None:
    fmt = FORMATS[name]
    found = (fmt.bits, fmt.bias, fmt.emin, fmt.emax, fmt.max, fmt.smallest)
    assert found == STANDARD[name]


@pytest.mark.parametrize("name", [n for n in NAMES if FORMATS[n].library_name])
def test_limits_equal_those_of_the_library_with_the_same_dtype(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy = pytest.importorskip("numpy")
    fmt = FORMATS[name]
    info = ml_dtypes.finfo(getattr(ml_dtypes, fmt.library_name, None) or fmt.library_name)
    assert info.bits == fmt.bits
    as_float64 = {key: float(numpy.float64(getattr(info, key))) for key in ("max", "eps")}
    assert as_float64 == {"max": float(fmt.max), "eps": float(fmt.eps)}
    assert float(info.smallest_normal) == float(fmt.smallest_normal)
    assert float(info.smallest_subnormal) == float(fmt.smallest)


@pytest.mark.parametrize("name", ["fp64", "fp32", "fp16", "bf16", "e5m2", "e4m3"])
def test_limits_equal_torch_finfo(name: str) -> None:
    torch = pytest.importorskip("torch")
    fmt = FORMATS[name]
    info = torch.finfo(getattr(torch, fmt.library_name))
    assert (info.bits, info.max, info.min) == (fmt.bits, float(fmt.max), -float(fmt.max))
    assert (info.eps, info.tiny) == (float(fmt.eps), float(fmt.smallest_normal))


def test_e8m0_has_neither_zero_nor_subnormals_nor_sign() -> None:
    assert not E8M0.has_zero
    assert not E8M0.signed
    assert E8M0.smallest_subnormal is None
    assert (E8M0.sign_mask, E8M0.nan_code, E8M0.infinity_code) == (0, 0xFF, None)
    assert FP16.smallest_subnormal == FP16.smallest == Fraction(1, 2**24)


def test_special_codes_are_those_of_the_standards() -> None:
    specials = {n: (f.largest_code, f.infinity_code, f.nan_code) for n, f in FORMATS.items()}
    assert specials["fp16"] == (0x7BFF, 0x7C00, 0x7E00)
    assert specials["fp32"] == (0x7F7FFFFF, 0x7F800000, 0x7FC00000)
    assert specials["bf16"] == (0x7F7F, 0x7F80, 0x7FC0)
    assert specials["tf32"] == (0x3FBFF, 0x3FC00, 0x3FE00)
    assert specials["e5m2"] == (0x7B, 0x7C, 0x7E)
    assert specials["e4m3"] == (0x7E, None, 0x7F)
    assert specials["e3m2"] == (0x1F, None, None)
    assert specials["e2m3"] == (0x1F, None, None)
    assert specials["e2m1"] == (0x07, None, None)
    assert specials["e8m0"] == (0xFE, None, 0xFF)
    quiet = struct.unpack("<Q", struct.pack("<d", float("nan")))[0]
    assert specials["fp64"] == (0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000, quiet)


@pytest.mark.parametrize(("e", "m"), [(2, 1), (2, 52), (3, 4), (5, 10), (8, 23), (11, 1), (11, 52)])
def test_ieee_like_formats_follow_the_formulas_for_any_widths(e: int, m: int) -> None:
    fmt = ieee_like(e, m)
    emax = 2 ** (e - 1) - 1
    assert (fmt.bits, fmt.precision, fmt.bias) == (1 + e + m, m + 1, emax)
    assert (fmt.emax, fmt.emin) == (emax, 1 - emax)
    assert fmt.max == (2 - Fraction(1, 2**m)) * Fraction(2) ** emax
    assert fmt.smallest == Fraction(2) ** (1 - emax - m)


def test_ieee_like_rebuilds_the_presets_with_ieee_rules_under_another_name() -> None:
    for name in ("fp64", "fp32", "tf32", "fp16", "bf16", "e5m2"):
        preset = FORMATS[name]
        made = ieee_like(preset.exponent_bits, preset.significand_bits)
        assert made.name == f"ieee_e{preset.exponent_bits}m{preset.significand_bits}"
        renamed = dataclasses.replace(made, name=name, library_name=preset.library_name)
        assert renamed == preset
    assert ieee_like(4, 3).max == 240


@pytest.mark.parametrize("widths", [(1, 10), (12, 10), (5, 0), (5, 53), (-1, 3)])
def test_ieee_like_refuses_other_widths_and_says_which_are_legal(widths: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"_bits = -?\d+ is outside \d+ to \d+"):
        ieee_like(*widths)
    with pytest.raises(TypeError, match="must be an int"):
        ieee_like(True, 10)
    with pytest.raises(TypeError, match="must be an int"):
        ieee_like(5.0, 10)  # type: ignore[arg-type]


def test_a_record_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="no float holds"):
        FloatFormat("wide", 11, 52, bias=1000)
    with pytest.raises(ValueError, match="no float holds"):
        FloatFormat("low", 11, 52, bias=1024)
    with pytest.raises(ValueError, match="outside 1 to 52"):
        FloatFormat("bare", 5, 0, bias=15)
    with pytest.raises(ValueError, match="none of ieee, all_ones_nan, none"):
        FloatFormat("odd", 5, 2, 15, "fnuz")  # type: ignore[arg-type]


def test_a_format_is_found_by_either_name_in_any_case() -> None:
    for name, fmt in FORMATS.items():
        assert get_format(name) is get_format(f" {name.upper()} ") is get_format(fmt) is fmt
    assert get_format("float8_e4m3fn") is E4M3
    assert get_format("bfloat16") is FORMATS["bf16"]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("fp61", "fp64"), ("bf61", "bf16"), ("float8_e4m3", "float8_e4m3fn"), ("e4m4", "e4m3")],
)
def test_an_unknown_name_gets_a_suggestion_and_the_list(name: str, suggestion: str) -> None:
    with pytest.raises(ValueError, match=f"unknown format {name!r}; did you mean '{suggestion}'"):
        get_format(name)
    with pytest.raises(ValueError, match="fp64, fp32, tf32") as error:
        get_format("zzz")
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize("value", [None, 16, True, b"fp16"])
def test_a_format_that_is_no_text_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="a format is a FloatFormat or a name"):
        get_format(value)


def test_widths_fall_along_the_table_so_that_lists_of_formats_read_well() -> None:
    bits = [fmt.bits for fmt in FORMATS.values() if fmt is not E8M0]
    assert all(wide >= narrow for wide, narrow in pairwise(bits))
