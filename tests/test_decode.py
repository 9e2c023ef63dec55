"""decode, against libraries that decode the same codes: struct, numpy, ml_dtypes, torch."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pytest

from ampcourse.decode import classify, decode, split_fields
from ampcourse.formats import E4M3, E8M0, FORMATS, FP16, FloatFormat, ieee_like

SMALL = ["fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"]
IN_TORCH = ["fp16", "bf16", "e5m2", "e4m3", "e8m0"]


def bits64(x: float) -> int:
    """The bits of a double, with one pattern for all NaN."""
    if math.isnan(x):
        return -1
    return struct.unpack("<Q", struct.pack("<d", x))[0]


@cache
def decode_all(fmt: FloatFormat) -> list[int]:
    return [bits64(decode(code, fmt).value) for code in range(1 << fmt.bits)]


def ml_dtypes_decode_all(dtype_name: str, bits: int) -> list[int]:
    numpy = pytest.importorskip("numpy")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = getattr(ml_dtypes, dtype_name, None) or numpy.dtype(dtype_name)
    codes = numpy.arange(1 << bits, dtype=numpy.uint16 if bits > 8 else numpy.uint8)
    with numpy.errstate(invalid="ignore"):  # the signalling NaN codes
        return [bits64(float(x)) for x in codes.view(dtype).astype(numpy.float64)]


@pytest.mark.parametrize("name", SMALL)
def test_every_code_decodes_as_numpy_and_ml_dtypes_decode_it(name: str) -> None:
    fmt = FORMATS[name]
    assert decode_all(fmt) == ml_dtypes_decode_all(fmt.library_name, fmt.bits)


@pytest.mark.parametrize("name", IN_TORCH)
def test_every_code_decodes_as_torch_decodes_it(name: str) -> None:
    torch = pytest.importorskip("torch")
    fmt = FORMATS[name]
    unsigned = torch.uint16 if fmt.bits > 8 else torch.uint8
    codes = torch.arange(1 << fmt.bits, dtype=torch.int32).to(unsigned)
    values = codes.view(getattr(torch, fmt.library_name)).to(torch.float64).tolist()
    assert decode_all(fmt) == [bits64(x) for x in values]


@pytest.mark.parametrize(
    ("widths", "dtype_name"), [((4, 3), "float8_e4m3"), ((3, 4), "float8_e3m4")]
)
def test_ieee_rules_at_other_widths_equal_ml_dtypes_own_ieee_fp8_types(
    widths: tuple[int, int], dtype_name: str
) -> None:
    assert decode_all(ieee_like(*widths)) == ml_dtypes_decode_all(dtype_name, 8)


@pytest.mark.parametrize("widths", [(2, 1), (2, 5), (3, 2), (6, 1), (7, 3), (11, 1)])
def test_ieee_rules_at_any_widths_equal_gfloat(widths: tuple[int, int]) -> None:
    gfloat = pytest.importorskip("gfloat")
    fmt = ieee_like(*widths)
    info = gfloat_info(gfloat, fmt)
    expected = [bits64(gfloat.decode_float(info, code).fval) for code in range(1 << fmt.bits)]
    assert decode_all(fmt) == expected


def gfloat_info(gfloat: Any, fmt: FloatFormat) -> Any:
    return gfloat.FormatInfo(
        name=fmt.name,
        k=fmt.bits,
        precision=fmt.precision,
        bias=fmt.bias,
        domain=gfloat.Domain.Extended,
        num_high_nans=(1 << fmt.significand_bits) - 1,
        has_nz=True,
        has_subnormals=True,
        is_signed=True,
        is_twos_complement=False,
    )


def random_codes(bits: int, significand_bits: int, count: int) -> list[int]:
    """Random codes, and those around every place where a rule changes."""
    random = Random(bits)
    top = 1 << (bits - 1)
    one = 1 << significand_bits
    infinity = top - one
    edges = [0, 1, one - 1, one, one + 1, infinity - 1, infinity, infinity + 1, top - 1]
    codes = [random.getrandbits(bits) for _ in range(count)]
    subnormal = [random.randrange(1, one) for _ in range(count // 10)]
    return edges + [top | code for code in edges] + codes + subnormal


@pytest.mark.parametrize(("name", "letter"), [("fp16", "e"), ("fp32", "f"), ("fp64", "d")])
def test_codes_of_the_ieee_formats_decode_as_struct_unpacks_them(name: str, letter: str) -> None:
    fmt = FORMATS[name]
    for code in random_codes(fmt.bits, fmt.significand_bits, 3000):
        expected = struct.unpack(f"<{letter}", code.to_bytes(fmt.bits // 8, "little"))[0]
        found = decode(code, fmt)
        assert bits64(found.value) == bits64(expected), hex(code)
        assert found.sign == code >> (fmt.bits - 1)
        if found.kind != "nan":
            assert math.copysign(1, found.value) == math.copysign(1, expected)


def test_tf32_codes_are_the_top_19_bits_of_fp32() -> None:
    for code in random_codes(19, 10, 3000):
        assert bits64(decode(code, "tf32").value) == bits64(decode(code << 13, "fp32").value)


@pytest.mark.parametrize("name", list(FORMATS))
def test_fields_formula_and_class_fit_together(name: str) -> None:
    fmt = FORMATS[name]
    count = 1 << fmt.bits
    codes = range(count) if fmt.bits <= 8 else random_codes(fmt.bits, fmt.significand_bits, 500)
    for code in codes:
        found = decode(code, fmt)
        joined = found.sign << (fmt.bits - 1) if fmt.signed else 0
        joined |= found.biased_exponent << fmt.significand_bits | found.significand_field
        assert joined == code
        assert (found.code, found.format) == (code, fmt)
        if found.kind in ("infinity", "nan"):
            assert found.fraction is found.exponent is found.implicit_bit is None
            assert found.significand is None
            continue
        assert found.implicit_bit is not None
        assert found.exponent is not None
        field = Fraction(found.significand_field, 2**fmt.significand_bits)
        assert found.significand == found.implicit_bit + field
        magnitude = found.significand * Fraction(2) ** found.exponent
        assert found.fraction == (-1) ** found.sign * magnitude == Fraction(found.value)
        assert (found.kind == "normal") == (magnitude >= fmt.smallest_normal)
        assert (found.kind == "zero") == (magnitude == 0)
        assert found.exponent >= fmt.emin
        assert magnitude <= fmt.max


def test_a_subnormal_has_implicit_bit_0_and_the_exponent_of_the_smallest_normal() -> None:
    largest = decode(0x03FF, FP16)
    assert (largest.kind, largest.implicit_bit, largest.exponent) == ("subnormal", 0, -14)
    assert largest.value == 2**-14 - 2**-24
    smallest_normal = decode(0x0400, FP16)
    assert (smallest_normal.kind, smallest_normal.implicit_bit) == ("normal", 1)
    assert (smallest_normal.exponent, smallest_normal.value) == (-14, 2**-14)


def test_e4m3_keeps_the_top_exponent_for_numbers_but_one_code() -> None:
    assert [decode(code, E4M3).kind for code in (0x78, 0x7E, 0x7F, 0xFE, 0xFF)] == [
        "normal",
        "normal",
        "nan",
        "normal",
        "nan",
    ]
    assert (decode(0x78, E4M3).value, decode(0xFE, E4M3).value) == (256.0, -448.0)


def test_e8m0_holds_the_powers_of_two_from_code_0_on() -> None:
    assert [decode(code, E8M0).value for code in (0, 126, 127, 128, 254)] == [
        2.0**-127,
        0.5,
        1.0,
        2.0,
        2.0**127,
    ]
    assert (decode(0, E8M0).kind, decode(255, E8M0).kind) == ("normal", "nan")


def test_zero_and_nan_keep_their_sign_in_the_value() -> None:
    assert math.copysign(1, decode(0x8000, FP16).value) == -1
    assert math.copysign(1, decode(0xFE00, FP16).value) == -1
    assert math.copysign(1, decode(0x7E00, FP16).value) == 1


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        (0x2E66, "fp16", "0.0999755859375"),
        (0x0001, "fp16", "0.000000059604644775390625"),
        (0xFBFF, "fp16", "-65504"),
        (0x8000, "fp16", "-0"),
        (0x7C00, "fp16", "inf"),
        (0xFC00, "fp16", "-inf"),
        (0x7E00, "fp16", "nan"),
        (0x3FB999999999999A, "fp64", "0.1000000000000000055511151231257827021181583404541015625"),
    ],
)
def test_decimal_text_shows_every_digit(code: int, name: str, text: str) -> None:
    assert decode(code, name).decimal_text == text


@pytest.mark.parametrize("code", [-1, 1 << 16, 1 << 70])
def test_a_code_out_of_range_is_refused_with_the_legal_range(code: int) -> None:
    with pytest.raises(ValueError, match=r"out of range; fp16 has codes 0 to 0xffff"):
        decode(code, "fp16")


@pytest.mark.parametrize("code", [True, 1.0, "1", None, Fraction(1)])
def test_a_code_that_is_no_int_is_refused(code: Any) -> None:
    with pytest.raises(TypeError, match="a code is an int, not"):
        decode(code, "fp16")


def test_an_integer_of_another_type_is_a_code() -> None:
    numpy = pytest.importorskip("numpy")
    found = decode(numpy.uint16(0x3C00), "fp16")
    assert type(found.code) is int
    assert found.value == 1.0


def test_fields_and_class_can_be_had_alone() -> None:
    assert split_fields(0xAE66, FP16) == (1, 0b01011, 0b1001100110)
    assert [classify(code, FP16) for code in (0, 1, 0x0400, 0x7C00, 0x7C01)] == [
        "zero",
        "subnormal",
        "normal",
        "infinity",
        "nan",
    ]
