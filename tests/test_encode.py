"""encode, against a search through the codes and against struct, numpy, ml_dtypes, torch."""

from __future__ import annotations

import json
import math
import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.decode import decode
from ampcourse.encode import Overflow, encode
from ampcourse.formats import (
    E8M0,
    FORMATS,
    FP16,
    FP32,
    FP64,
    FloatFormat,
    get_format,
    ieee_like,
)
from ampcourse.rounding import MODES

SMALL = ["fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"]
TINY = ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"]
MIRROR = {**{mode: mode for mode in MODES}, "up": "down", "down": "up"}


class Magnitudes(Sequence[Fraction]):
    """The non-negative finite values of a format as a sequence, in the order of their codes."""

    def __init__(self, fmt: FloatFormat) -> None:
        self.fmt = fmt

    def __len__(self) -> int:
        return self.fmt.largest_code + 1

    def __getitem__(self, code: int) -> Fraction:  # type: ignore[override]
        if not 0 <= code <= self.fmt.largest_code:
            raise IndexError(code)
        return decode(code, self.fmt).fraction or Fraction(0)


def beyond(fmt: FloatFormat) -> Fraction:
    """The value that would follow the largest if exponents went on."""
    if fmt.significand_bits == 0:
        return 2 * fmt.max
    return 2 * fmt.max - Magnitudes(fmt)[fmt.largest_code - 1]


def choose(
    x: Fraction, below: Fraction, above: Fraction, code: int, fmt: FloatFormat, mode: str
) -> bool:
    """Whether a magnitude between two neighbours goes to the larger one; code is the lower's."""
    if mode in ("toward_zero", "down", "up"):
        return mode == "up"
    last_bit_is_odd = True if fmt.significand_bits == 0 else code % 2 == 1
    if mode == "to_odd":
        return not last_bit_is_odd
    if x - below != above - x:
        return x - below > above - x
    return mode == "nearest_away" or last_bit_is_odd


def expected_code(x: Fraction, fmt: FloatFormat, mode: str) -> int:
    """Find the code of a positive number by searching all codes; overflow is None."""
    values = Magnitudes(fmt)
    code = bisect_right(values, x, hi=len(values)) - 1
    if code < 0:
        return 0  # E8M0: below the smallest
    if values[code] == x:
        return code
    if code < fmt.largest_code:
        return code + choose(x, values[code], values[code + 1], code, fmt, mode)
    overflows = x >= beyond(fmt) or choose(x, values[code], beyond(fmt), code, fmt, mode)
    if overflows and mode in ("nearest_even", "nearest_away", "up") and fmt.has_nan:
        return fmt.largest_code + 1  # infinity, or the NaN that stands there instead
    return fmt.largest_code


def assert_encodes(x: Fraction, fmt: FloatFormat, mode: str) -> None:
    """Check a positive number and, if the format is signed, its negative."""
    assert encode(x, fmt, mode) == expected_code(x, fmt, mode), (x, fmt.name, mode)
    if fmt.signed:
        mirrored = expected_code(x, fmt, MIRROR[mode])
        assert encode(-x, fmt, mode) == fmt.sign_mask | mirrored, (-x, fmt.name, mode)


def around_midpoint(code: int, fmt: FloatFormat) -> list[Fraction]:
    """The midpoint above a code and a point a tiny step to either side."""
    values = Magnitudes(fmt)
    below = values[code]
    above = values[code + 1] if code < fmt.largest_code else beyond(fmt)
    middle, step = (below + above) / 2, (above - below) / 2**80
    return [middle - step, middle, middle + step]


@pytest.mark.parametrize("name", SMALL)
def test_every_code_comes_back_from_its_value(name: str) -> None:
    fmt = FORMATS[name]
    for code in range(1 << fmt.bits):
        found = decode(code, fmt)
        sign = code & fmt.sign_mask
        expected = sign | (fmt.nan_code or 0) if found.kind == "nan" else code
        assert encode(found.value, fmt) == expected


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("mode", MODES)
def test_every_midpoint_of_the_small_formats_rounds_as_the_mode_says(name: str, mode: str) -> None:
    fmt = FORMATS[name]
    for code in range(fmt.largest_code + 1):
        for x in around_midpoint(code, fmt):
            assert_encodes(x, fmt, mode)


@pytest.mark.parametrize("name", ["fp16", "bf16"])
@pytest.mark.parametrize("mode", MODES)
def test_midpoints_at_both_ends_of_every_16_bit_binade_round_as_the_mode_says(
    name: str, mode: str
) -> None:
    fmt = FORMATS[name]
    one = 1 << fmt.significand_bits
    exponents = range(1 << fmt.exponent_bits) if name == "fp16" else (0, 1, 2, 127, 128, 253, 254)
    for biased in exponents:
        for code in (
            biased * one,
            biased * one + 1,
            biased * one + one - 2,
            biased * one + one - 1,
        ):
            if code <= fmt.largest_code:
                for x in around_midpoint(code, fmt):
                    assert_encodes(x, fmt, mode)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fp16", "bf16"])
@pytest.mark.parametrize("mode", MODES)
def test_every_midpoint_of_the_16_bit_formats_rounds_as_the_mode_says(name: str, mode: str) -> None:
    fmt = FORMATS[name]
    values = [*Magnitudes(fmt), beyond(fmt)]
    for code in range(fmt.largest_code):
        below, above = values[code], values[code + 1]
        middle, step = (below + above) / 2, (above - below) / 2**80
        for x in (middle - step, middle, middle + step):
            upper = choose(x, below, above, code, fmt, mode)
            assert encode(x, fmt, mode) == code + upper
            upper = choose(x, below, above, code, fmt, MIRROR[mode])
            assert encode(-x, fmt, mode) == fmt.sign_mask | code + upper


def float32_points(fmt: FloatFormat, every: int) -> list[float]:
    """Midpoints of a format and the fp32 numbers on both sides of each; all exact in fp32."""
    numpy = pytest.importorskip("numpy")
    values = [decode(code, fmt).value for code in range(fmt.largest_code + 1)]
    values.append(min(float(beyond(fmt)), 2.0**128 - 2.0**104))
    middles = numpy.array([a / 2 + b / 2 for a, b in pairwise(values)])
    middles = middles.astype(numpy.float32)
    some = middles[::every]
    infinity = numpy.float32(math.inf)
    points = [middles, numpy.nextafter(some, -infinity), numpy.nextafter(some, infinity)]
    # Between 2^-127 and 2^-126, where fp32 is subnormal, ml_dtypes and torch round to E8M0
    # upwards; the search through the codes has that range.
    lowest = 2.0**-126 if fmt is E8M0 else 0.0
    return [float(x) for x in numpy.concatenate(points) if lowest <= x < math.inf]


def cast_with_numpy(points: list[float], fmt: FloatFormat) -> list[int]:
    numpy = pytest.importorskip("numpy")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = getattr(ml_dtypes, fmt.library_name, None) or numpy.dtype(fmt.library_name)
    with numpy.errstate(over="ignore"):
        cast = numpy.array(points, dtype=numpy.float32).astype(dtype)
    return cast.view(numpy.uint16 if fmt.bits > 8 else numpy.uint8).tolist()


def cast_with_torch(points: list[float], fmt: FloatFormat) -> list[int]:
    torch = pytest.importorskip("torch")
    cast = torch.tensor(points, dtype=torch.float32).to(getattr(torch, fmt.library_name))
    return cast.view(torch.uint16 if fmt.bits > 8 else torch.uint8).tolist()


def assert_casts_agree(
    points: list[float], fmt: FloatFormat, cast: Callable[[list[float], FloatFormat], list[int]]
) -> None:
    if fmt.signed:
        points = [*points[::2], *(-x for x in points[1::2])]
    for x, code in zip(points, cast(points, fmt), strict=True):
        assert encode(x, fmt) == code, (x.hex(), hex(code))


@pytest.mark.parametrize("name", SMALL)
def test_midpoints_encode_as_numpy_and_ml_dtypes_cast_them(name: str) -> None:
    fmt = FORMATS[name]
    assert_casts_agree(float32_points(fmt, 9 if fmt.bits > 8 else 1), fmt, cast_with_numpy)


# Past 448 torch saturates E4M3 and ml_dtypes gives NaN: see the overflow tests.
@pytest.mark.parametrize("name", ["fp16", "bf16", "e5m2", "e4m3", "e8m0"])
def test_midpoints_encode_as_torch_casts_them(name: str) -> None:
    fmt = FORMATS[name]
    limit = float(fmt.max) if name == "e4m3" else math.inf
    points = [x for x in float32_points(fmt, 10**9)[:: 3 if fmt.bits > 8 else 1] if x < limit]
    assert_casts_agree(points, fmt, cast_with_torch)


@pytest.mark.slow
@pytest.mark.parametrize("cast", [cast_with_numpy, cast_with_torch])
@pytest.mark.parametrize("name", ["fp16", "bf16"])
def test_every_16_bit_midpoint_and_both_sides_encode_as_libraries_cast_them(
    name: str, cast: Callable[[list[float], FloatFormat], list[int]]
) -> None:
    fmt = FORMATS[name]
    points = float32_points(fmt, 1)
    assert_casts_agree(points, fmt, cast)
    assert_casts_agree([-x for x in points], fmt, cast)


def random_doubles(count: int, low: int, high: int) -> list[float]:
    random = Random(count)
    return [math.ldexp(random.uniform(-1, 1), random.randint(low, high)) for _ in range(count)]


def test_doubles_become_fp32_as_struct_packs_them() -> None:
    points = random_doubles(4000, -151, 128)
    points += [math.ldexp(1, -150), math.ldexp(3, -150), math.ldexp(2**25 - 1, 102)]
    for x in points:
        assert encode(x, FP32) == struct.unpack("<I", struct.pack("<f", x))[0], x.hex()


def test_fp32_and_fp64_codes_come_back_from_their_values() -> None:
    random = Random(64)
    for fmt in (FP32, FP64):
        for _ in range(2000):
            code = random.getrandbits(fmt.bits)
            if decode(code, fmt).kind != "nan":
                assert encode(decode(code, fmt).value, fmt) == code


def test_text_becomes_fp64_as_python_reads_it() -> None:
    random = Random(17)
    for _ in range(2000):
        digits = str(random.getrandbits(random.choice([10, 60, 120])))
        text = f"{random.choice(['', '-'])}{digits[0]}.{digits[1:]}e{random.randint(-330, 310)}"
        expected = struct.unpack("<Q", struct.pack("<d", float(text)))[0]
        assert encode(text, FP64) == expected, text


#: FACTS: text, right code, and the codes that rounding twice gives.
DOUBLE_ROUNDING = [
    ("1.00048828218", "fp16", 0x3C01),
    ("1.000488281250000000001", "fp16", 0x3C01),
    ("65519.999", "fp16", 0x7BFF),
    ("65519.99999999999999999", "fp16", 0x7BFF),
    ("2.980232239e-8", "fp16", 0x0001),
    ("1.003906251", "bf16", 0x3F81),
    ("-431.99999999999994", "e4m3", 0xFD),
]


@pytest.mark.parametrize(("text", "name", "code"), DOUBLE_ROUNDING)
def test_text_that_two_roundings_get_wrong_is_rounded_once(text: str, name: str, code: int) -> None:
    assert encode(text, name) == code
    assert encode(Fraction(text), name) == encode(Decimal(text), name) == code


@pytest.mark.parametrize(("text", "name", "code"), DOUBLE_ROUNDING)
def test_the_same_text_through_fp32_is_the_known_wrong_answer(
    text: str, name: str, code: int
) -> None:
    through_fp32 = decode(encode(text, "fp32"), "fp32").value
    assert encode(through_fp32, name) != code


VECTORS = Path(__file__).parents[1] / ".." / "shared" / "vectors" / "float_cases.jsonl"
CASE_MODES = {"nearest_even": "nearest_even", "toward_positive": "up"}
CASE_FORMATS = {"e4m3fn": "e4m3", "e2m1fn": "e2m1", "e8m0fnu": "e8m0"}


def float_cases() -> list[dict[str, Any] | None]:
    if not VECTORS.exists():
        return [None]
    return [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", float_cases(), ids=lambda case: case and case["source"])
def test_conversions_that_libraries_got_wrong_are_right_here(case: dict[str, Any] | None) -> None:
    if case is None:
        pytest.skip(f"{VECTORS.name} is not here; it lies outside the repository")
    if "fnuz" in case.get("fmt", "") or case["op"] in ("note", "round_decimals"):
        pytest.skip("about a format or an operation that the course leaves out")
    fmt = get_format(CASE_FORMATS.get(case["fmt"], case["fmt"]))
    mode = CASE_MODES[case.get("mode", "nearest_even")]
    operation = case["op"].removesuffix("_many")
    values = case.get("values") or [case.get("value") or case.get("text")]
    if operation == "decode":
        assert [decode(code, fmt).value for code in case["codes"]] == list(
            map(float.fromhex, values)
        )
    elif operation == "round":
        wanted = case.get("results") or [case["result"]]
        found = [decode(encode(x, fmt, mode), fmt).value for x in values]
        assert found == list(map(float.fromhex, wanted))
    else:
        wanted = case.get("bits_many") or [case["bits"]]
        assert [encode(x, fmt, mode) for x in values] == [int(bits, 16) for bits in wanted]


#: Codes for +inf, -inf, +10^9 and -10^9 under each overflow, with nearest_even.
#: OFP8 1.0 and MX 1.0 for the small formats, IEEE 754-2019 7.4 for the others.
TOO_LARGE = [
    ("fp16", None, 0x7C00, 0xFC00, 0x7C00, 0xFC00),
    ("fp16", "infinity", 0x7C00, 0xFC00, 0x7C00, 0xFC00),
    ("fp16", "saturate", 0x7BFF, 0xFBFF, 0x7BFF, 0xFBFF),
    ("e5m2", None, 0x7C, 0xFC, 0x7C, 0xFC),
    ("e5m2", "saturate", 0x7B, 0xFB, 0x7B, 0xFB),
    ("e4m3", None, 0x7F, 0xFF, 0x7F, 0xFF),
    ("e4m3", "infinity", 0x7F, 0xFF, 0x7F, 0xFF),
    ("e4m3", "saturate", 0x7E, 0xFE, 0x7E, 0xFE),
    ("e3m2", None, 0x1F, 0x3F, 0x1F, 0x3F),
    ("e2m3", "saturate", 0x1F, 0x3F, 0x1F, 0x3F),
    ("e2m1", None, 0x07, 0x0F, 0x07, 0x0F),
    ("e2m1", "saturate", 0x07, 0x0F, 0x07, 0x0F),
]


@pytest.mark.parametrize(
    ("name", "overflow", "inf", "minus_inf", "large", "minus_large"), TOO_LARGE
)
def test_numbers_too_large_go_where_overflow_says(
    name: str, overflow: Overflow, inf: int, minus_inf: int, large: int, minus_large: int
) -> None:
    numbers = (math.inf, -math.inf, 10**9, -(10**9))
    found = [encode(x, name, overflow=overflow) for x in numbers]
    assert found == [inf, minus_inf, large, minus_large]


@pytest.mark.parametrize("name", ["fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1"])
def test_the_default_overflow_is_that_of_numpy_and_ml_dtypes(name: str) -> None:
    fmt = FORMATS[name]
    points = [math.inf, -math.inf, float(beyond(fmt)) * 1.5, -float(beyond(fmt)) * 1.5]
    points = [x if abs(x) < 2.0**128 else math.copysign(math.inf, x) for x in points]
    assert [encode(x, fmt) for x in points] == cast_with_numpy(points, fmt)


def test_saturating_e4m3_is_what_torch_does() -> None:
    points = [448.5, 464.0, 465.0, 1000.0, -1000.0, 3e38]
    wanted = cast_with_torch(points, FORMATS["e4m3"])
    assert [encode(x, "e4m3", overflow="saturate") for x in points] == wanted


#: For +10^9 and -10^9 with overflow None: "inf" or "max" (IEEE 754-2019, 7.4).
BY_MODE = {
    "nearest_even": ("inf", "inf"),
    "nearest_away": ("inf", "inf"),
    "toward_zero": ("max", "max"),
    "up": ("inf", "max"),
    "down": ("max", "inf"),
    "to_odd": ("max", "max"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["fp16", "e5m2", "e4m3", "e2m1"])
def test_without_a_choice_the_mode_decides_where_an_overflow_goes(name: str, mode: str) -> None:
    fmt = FORMATS[name]
    beyond_max = fmt.infinity_code or fmt.nan_code or fmt.largest_code
    codes = {"inf": beyond_max, "max": fmt.largest_code}
    positive, negative = (codes[key] for key in BY_MODE[mode])
    assert encode(10**9, fmt, mode) == positive
    assert encode(-(10**9), fmt, mode) == fmt.sign_mask | negative
    assert encode(10**9, fmt, mode, "saturate") == fmt.largest_code


def test_overflow_begins_where_the_rounded_number_is_too_large() -> None:
    largest, infinity = 0x7BFF, 0x7C00
    assert encode("65519.99999", FP16) == largest
    assert encode(65520, FP16) == encode(65520, FP16, "nearest_away") == infinity
    assert encode("65504.0001", FP16, "up") == infinity
    assert encode(65535, FP16, "toward_zero", "infinity") == largest
    assert encode(65536, FP16, "toward_zero", "infinity") == infinity
    assert (encode(464, "e4m3"), encode("464.0001", "e4m3")) == (0x7E, 0x7F)
    assert encode(464, "e4m3", "nearest_away") == 0x7F
    assert encode(450, "e4m3", "to_odd") == 0x7E


@pytest.mark.parametrize("name", ["e3m2", "e2m3", "e2m1"])
def test_a_format_without_nan_says_what_can_be_encoded(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} has no code for NaN; only numbers"):
        encode(math.nan, name)
    with pytest.raises(ValueError, match="neither infinity nor NaN; use overflow="):
        encode(100, name, overflow="infinity")
    assert encode(0, name, overflow="infinity") == 0


def test_e8m0_takes_only_positive_numbers_and_makes_nan_of_the_rest() -> None:
    numbers: list[float | str] = [0, -0.0, -1, "-1e-400", -math.inf, math.nan, math.inf]
    assert [encode(x, E8M0) for x in numbers] == [0xFF] * 7
    saturated = [encode(x, E8M0, overflow="saturate") for x in numbers]
    assert saturated == [0, 0, 0, 0, 0, 0xFF, 0xFE]
    assert encode("-nan", E8M0, overflow="saturate") == 0xFF


def test_e8m0_treats_zero_and_negative_numbers_as_ml_dtypes_does() -> None:
    points = [0.0, -0.0, -1.0, -math.inf, math.inf, math.nan, 1.5, 3.0, 2.0**-128, 2.0**-149]
    assert [encode(x, E8M0) for x in points] == cast_with_numpy(points, E8M0)


@pytest.mark.parametrize("mode", MODES)
def test_e8m0_has_nothing_below_its_smallest_in_any_mode(mode: str) -> None:
    assert encode(Fraction(1, 2**128), E8M0, mode) == 0
    assert encode("1e-1000", E8M0, mode) == 0
    assert encode(Fraction(1, 2**127), E8M0, mode) == 0


def test_a_tie_of_e8m0_goes_to_the_larger_power_of_two() -> None:
    assert [encode(x, E8M0) for x in (1.5, 3, 6, 0.75)] == [128, 129, 130, 127]
    assert [encode(1.5, E8M0, mode) for mode in MODES] == [128, 128, 127, 128, 127, 127]


def test_zero_and_nan_keep_their_sign_and_nan_loses_its_payload() -> None:
    assert [encode(x, FP16) for x in (0.0, -0.0, "-0", "-0e99", Decimal("-0"))] == [
        0,
        0x8000,
        0x8000,
        0x8000,
        0x8000,
    ]
    assert [encode(x, FP16) for x in (math.nan, -math.nan, "nan", "-NaN")] == [
        0x7E00,
        0xFE00,
        0x7E00,
        0xFE00,
    ]
    assert encode(Decimal("-sNaN77"), FP16) == 0xFE00
    assert encode(decode(0x7C01, FP16).value, FP16) == 0x7E00


def test_a_negative_number_that_rounds_to_zero_gives_minus_zero() -> None:
    assert encode("-1e-30", FP16) == 0x8000
    assert encode("-1e-30", FP16, "down") == 0x8001
    assert encode("-1e-30", FP16, "up") == 0x8000


def test_formats_are_accepted_by_name_and_wrong_arguments_are_refused() -> None:
    assert encode(1, "FP16") == encode(1, "float16") == encode(1, FP16) == 0x3C00
    with pytest.raises(ValueError, match="unknown format 'fp17'; did you mean"):
        encode(1, "fp17")
    with pytest.raises(ValueError, match="unknown rounding mode 'nearest'"):
        encode(1, FP16, "nearest")
    with pytest.raises(ValueError, match="unknown overflow 'clip'; it is None, \"infinity\" or"):
        encode(1, FP16, overflow="clip")  # type: ignore[arg-type]


WIDTHS = st.tuples(st.integers(2, 11), st.integers(1, 52)).map(lambda w: ieee_like(*w))
ANY_FORMAT = st.sampled_from(list(FORMATS.values())) | WIDTHS
SIGNED = ANY_FORMAT.filter(lambda fmt: fmt.signed)
ANY_MODE = st.sampled_from(MODES)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
SPREAD = st.tuples(st.integers(1, 2**60), st.integers(-1140, 1030)).map(
    lambda pair: pair[0] * Fraction(2) ** pair[1]
)
POSITIVE = SPREAD | DOUBLES.filter(bool).map(lambda x: abs(Fraction(x)))


@given(POSITIVE, ANY_FORMAT, ANY_MODE)
def test_any_number_in_any_format_and_mode_gets_the_code_that_a_search_finds(
    x: Fraction, fmt: FloatFormat, mode: str
) -> None:
    assert_encodes(x, fmt, mode)


@given(ANY_FORMAT, ANY_MODE, st.data())
def test_numbers_near_a_code_or_a_midpoint_get_the_code_that_a_search_finds(
    fmt: FloatFormat, mode: str, data: st.DataObject
) -> None:
    code = data.draw(st.integers(0, fmt.largest_code))
    for x in around_midpoint(code, fmt):
        if x > 0:
            assert_encodes(x, fmt, mode)


@given(DOUBLES, DOUBLES, SIGNED, ANY_MODE)
def test_rounding_is_monotone(x: float, y: float, fmt: FloatFormat, mode: str) -> None:
    low, high = sorted([x, y])
    values = [decode(encode(z, fmt, mode, "saturate"), fmt).value for z in (low, high)]
    assert values[0] <= values[1]


@given(ANY_FORMAT, ANY_MODE, st.data())
def test_what_the_format_holds_is_left_alone_in_every_mode(
    fmt: FloatFormat, mode: str, data: st.DataObject
) -> None:
    code = data.draw(st.integers(0, fmt.largest_code)) | fmt.sign_mask
    assert encode(decode(code, fmt).value, fmt, mode) == code


@given(DOUBLES, SIGNED)
def test_directed_modes_bracket_the_number_within_one_step(x: float, fmt: FloatFormat) -> None:
    down = encode(x, fmt, "down", "saturate")
    up = encode(x, fmt, "up", "saturate")
    inward = encode(x, fmt, "toward_zero", "saturate")
    if abs(x) <= fmt.max:
        assert decode(down, fmt).value <= x <= decode(up, fmt).value
        assert abs(down - up) in (0, 1) or {down, up} == {fmt.sign_mask, 0}
        assert inward == (down if x > 0 or (x == 0 and not down & fmt.sign_mask) else up)


@given(st.floats(min_value=-70000, max_value=70000))
def test_rounding_to_odd_in_fp32_first_does_no_harm_to_fp16(x: float) -> None:
    odd = decode(encode(x, FP32, "to_odd"), FP32).fraction
    if odd:
        assert encode(odd, FP16) == encode(x, FP16)


@pytest.mark.parametrize("name", ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"])
@pytest.mark.parametrize(
    ("mode", "gfloat_mode"),
    [
        ("nearest_even", "TiesToEven"),
        ("nearest_away", "TiesToAway"),
        ("toward_zero", "TowardZero"),
        ("up", "TowardPositive"),
        ("down", "TowardNegative"),
    ],
)
def test_modes_agree_with_gfloat_on_numbers_in_range(
    name: str, mode: str, gfloat_mode: str
) -> None:
    gfloat = pytest.importorskip("gfloat")
    pytest.importorskip("gfloat.formats")
    fmt = FORMATS[name]
    info = getattr(gfloat.formats, f"format_info_ocp_{name}")
    for x in random_doubles(300, fmt.emin - fmt.significand_bits - 2, fmt.emax):
        rounded = gfloat.round_float(info, x, getattr(gfloat.RoundMode, gfloat_mode))
        assert encode(x, fmt, mode) == gfloat.encode_float(info, rounded), (x, mode)
