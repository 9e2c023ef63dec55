"""The vector functions against casts that numpy, ml_dtypes, torch and gfloat make.

Where a library's rule is another one, the test that shows it says so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ampcourse.encode import Overflow
from ampcourse.formats import FORMATS, FloatFormat
from ampcourse.quantize import decode_array, encode_array, quantize
from tests.quantize.points import Floats, assert_same, codes_and_midpoints, random_patterns
from tests.test_encode import CASE_FORMATS, CASE_MODES, float_cases

CAST_BY_NUMPY = ["fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"]
CAST_BY_TORCH = ["fp16", "bf16", "e5m2", "e4m3", "e8m0"]
INTEGERS = {8: "uint8", 16: "uint16"}


def points(name: str, step: int = 1) -> Floats:
    """Codes, midpoints and their float32 neighbours, and random patterns; finite ones."""
    fmt = FORMATS[name]
    numbers = [codes_and_midpoints(fmt, "float32"), random_patterns(50_000, "float32", 5)]
    found = np.concatenate(numbers)[::step]
    return found[np.isfinite(found)]


def cast_with_numpy(numbers: Floats, fmt: FloatFormat) -> Any:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = getattr(ml_dtypes, fmt.library_name, None) or np.dtype(fmt.library_name)
    with np.errstate(all="ignore"):
        return numbers.astype(dtype).view(INTEGERS[16 if fmt.bits > 8 else 8])


def cast_with_torch(numbers: Floats, fmt: FloatFormat) -> Any:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(numbers).to(getattr(torch, fmt.library_name))
    return tensor.view(torch.uint16 if fmt.bits > 8 else torch.uint8).numpy()


def assert_codes(numbers: Floats, name: str, wanted: Any, overflow: Overflow = None) -> None:
    codes = encode_array(numbers, name, overflow=overflow)
    different = np.flatnonzero(codes != wanted)
    assert not len(different), [
        (float(numbers[i]).hex(), hex(codes[i]), hex(wanted[i])) for i in different[:3]
    ]


def clear_of_subnormals(numbers: Floats) -> Floats:
    """Leave out where FP32 is subnormal: both libraries round up to E8M0 between 2^-127 and
    2^-126, and the scalar tests have that range."""
    return numbers[np.abs(numbers) >= 2.0**-126]


@pytest.mark.parametrize("name", CAST_BY_NUMPY)
def test_float32_encodes_as_numpy_and_ml_dtypes_cast_it(name: str) -> None:
    numbers = points(name, 7 if name == "fp16" else 1)  # numpy is slow at float16
    numbers = clear_of_subnormals(numbers) if name == "e8m0" else numbers
    assert_codes(numbers, name, cast_with_numpy(numbers, FORMATS[name]))


@pytest.mark.parametrize("name", CAST_BY_TORCH)
def test_float32_encodes_as_torch_casts_it(name: str) -> None:
    numbers = points(name)
    if name == "e8m0":  # torch drops the sign and makes 2^-127 of zero; here both are NaN
        numbers = clear_of_subnormals(np.abs(numbers))
    # torch 2.12 and later saturate E4M3 (earlier ones gave NaN past 464).
    if name == "e4m3":
        numbers = numbers[np.abs(numbers) <= 448]
    assert_codes(numbers, name, cast_with_torch(numbers, FORMATS[name]))


def test_torch_saturates_e4m3_and_ml_dtypes_makes_nan_of_it() -> None:
    numbers = np.array([448, 464, 465, 1000, -1000, 3e38], np.float32)
    assert_codes(numbers, "e4m3", cast_with_numpy(numbers, FORMATS["e4m3"]), "infinity")
    saturated = cast_with_torch(numbers, FORMATS["e4m3"])
    if saturated[3] == 0x7E:
        assert_codes(numbers, "e4m3", saturated, "saturate")


def test_codes_decode_as_ml_dtypes_decodes_them() -> None:
    pytest.importorskip("ml_dtypes")
    import ml_dtypes

    for name in CAST_BY_NUMPY[1:]:
        fmt = FORMATS[name]
        codes = np.arange(1 << fmt.bits).astype(INTEGERS[16 if fmt.bits > 8 else 8])
        with np.errstate(invalid="ignore"):
            wanted = codes.view(getattr(ml_dtypes, fmt.library_name)).astype(np.float64)
        found = decode_array(codes, name, "float64")
        assert np.array_equal(found, wanted, equal_nan=True)
        assert (np.signbit(found) == np.signbit(wanted)).all()


def test_float64_becomes_float32_as_numpy_casts_it() -> None:
    numbers = random_patterns(200_000, "float64", 1)
    near = random_patterns(200_000, "float32", 2, nans=False).astype("f8") * 1.1
    numbers = np.concatenate([numbers, near])
    numbers = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore", under="ignore"):
        wanted = numbers.astype(np.float32)
    assert (encode_array(numbers, "fp32") == wanted.view(np.uint32)).all()
    assert_same(quantize(numbers, "fp32"), wanted, numbers, "fp32")


def test_float64_is_not_rounded_twice_where_libraries_do_it() -> None:
    pytest.importorskip("ml_dtypes")
    import ml_dtypes

    number = np.array([-431.99999999999994])  # FACTS: FP32 makes a tie of it
    assert quantize(number, "e4m3").tolist() == [-416.0]
    assert number.astype(ml_dtypes.float8_e4m3fn).tolist() == [-448.0]


MODES_OF_GFLOAT = {
    "nearest_even": "TiesToEven",
    "nearest_away": "TiesToAway",
    "toward_zero": "TowardZero",
    "up": "TowardPositive",
    "down": "TowardNegative",
}


@pytest.mark.parametrize("mode", MODES_OF_GFLOAT)
@pytest.mark.parametrize("name", ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"])
def test_modes_agree_with_gfloat_in_range(name: str, mode: str) -> None:
    gfloat = pytest.importorskip("gfloat")
    formats = pytest.importorskip("gfloat.formats")
    numbers = codes_and_midpoints(FORMATS[name], "float32").astype("f8")
    numbers = numbers[np.abs(numbers) <= float(FORMATS[name].max)]
    info = getattr(formats, f"format_info_ocp_{name}")
    wanted = gfloat.round_ndarray(info, numbers, getattr(gfloat.RoundMode, MODES_OF_GFLOAT[mode]))
    assert_same(quantize(numbers, name, mode), wanted, numbers, (name, mode))


@pytest.mark.parametrize("case", float_cases(), ids=lambda case: case and case["source"])
def test_conversions_that_libraries_got_wrong_are_right_here(case: dict[str, Any] | None) -> None:
    if case is None:
        pytest.skip("float_cases.jsonl is not here; it lies outside the repository")
    if "fnuz" in case.get("fmt", "") or case["op"] in ("note", "round_decimals", "parse"):
        pytest.skip("about a format or an operation that the vector functions leave out")
    name = CASE_FORMATS.get(case["fmt"], case["fmt"])
    mode = CASE_MODES[case.get("mode", "nearest_even")]
    operation = case["op"].removesuffix("_many")
    values = np.array([float.fromhex(x) for x in case.get("values") or [case["value"]]])
    if operation == "decode":
        assert decode_array(np.array(case["codes"]), name).tolist() == values.tolist()
    elif operation == "round":
        wanted = [float.fromhex(x) for x in case.get("results") or [case["result"]]]
        assert quantize(values, name, mode).tolist() == wanted
    else:
        wanted = [int(x, 16) for x in case.get("bits_many") or [case["bits"]]]
        assert encode_array(values, name, mode).tolist() == wanted


def test_nan_and_infinity_become_what_numpy_makes_of_them() -> None:
    numbers = np.array([math.nan, -math.nan, math.inf, -math.inf], np.float32)
    for name in ("fp16", "bf16", "e5m2", "e4m3"):
        assert_codes(numbers, name, cast_with_numpy(numbers, FORMATS[name]))
