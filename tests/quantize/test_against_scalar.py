"""The vector functions give the very codes and values of ampcourse.encode and decode."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ampcourse.decode import decode
from ampcourse.encode import Overflow, encode
from ampcourse.formats import FORMATS, FloatFormat
from ampcourse.quantize import decode_array, encode_array, quantize
from ampcourse.quantize.array_ops import TorchOps
from ampcourse.quantize.kernel import round_patterns
from ampcourse.quantize.rule import make_rule
from ampcourse.rounding import MODES
from tests.quantize.exact_oracle import rounded
from tests.quantize.points import (
    SMALL,
    WIDE,
    Floats,
    assert_same,
    codes_and_midpoints,
    random_near,
    random_patterns,
    settings,
    values_of,
)

ALL = pytest.mark.parametrize("fmt", [*SMALL, *WIDE], ids=lambda fmt: fmt.name)
NARROW = pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
DTYPES = ("float32", "float64")


def within_float32(fmt: FloatFormat) -> bool:
    """Whether every value of a format, and what overflows to, is one of float32."""
    return fmt.exponent_bits <= 8 and fmt.significand_bits <= 23


def scalar_codes(
    numbers: Floats, fmt: FloatFormat, mode: str, overflow: Overflow, subnormals: bool
) -> list[int]:
    """Encode one by one; a NaN goes in as text, which shows its sign."""
    texts = {True: "-nan", False: "nan"}
    return [
        encode(texts[bool(np.signbit(x))] if math.isnan(x) else x, fmt, mode, overflow, subnormals)
        for x in numbers.tolist()
    ]


def allowed(numbers: Floats, fmt: FloatFormat) -> Floats:
    """Leave NaNs out where the format has none."""
    return numbers if fmt.has_nan else numbers[~np.isnan(numbers)]


def assert_like_scalar(numbers: Floats, fmt: FloatFormat, *how: Any) -> None:
    wanted = scalar_codes(numbers, fmt, *how)
    codes = encode_array(numbers, fmt, *how)
    different = [i for i, code in enumerate(codes.tolist()) if code != wanted[i]]
    assert not different, (fmt.name, how, numbers[different[0]].hex(), wanted[different[0]])
    values = np.array([decode(code, fmt).value for code in wanted])
    assert_same(decode_array(codes, fmt, "float64"), values, numbers, (fmt.name, how))
    if numbers.dtype == np.float64 or within_float32(fmt):
        assert_same(quantize(numbers, fmt, *how), values, numbers, (fmt.name, how))
        assert_same(rounded(numbers, fmt, *how), values, numbers, ("oracle", fmt.name, how))


@ALL
def test_random_numbers_round_as_the_scalar_rounds_them(fmt: FloatFormat) -> None:
    for seed, how in enumerate(settings(fmt)):
        for dtype in DTYPES:
            numbers = [random_patterns(15, dtype, seed), random_near(fmt, 15, dtype, seed)]
            numbers.append(np.array([0.0, -0.0, math.inf, -math.inf], dtype))
            assert_like_scalar(allowed(np.concatenate(numbers), fmt), fmt, *how)


@pytest.mark.parametrize("name", ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"])
def test_codes_and_midpoints_of_the_small_formats_round_as_the_scalar_rounds_them(
    name: str,
) -> None:
    fmt = FORMATS[name]
    for mode in MODES:
        assert_like_scalar(codes_and_midpoints(fmt, "float32"), fmt, mode, None, True)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@NARROW
def test_every_code_and_midpoint_rounds_as_the_scalar_rounds_it(
    fmt: FloatFormat, mode: str
) -> None:
    points = codes_and_midpoints(fmt, "float64" if fmt.exponent_bits > 8 else "float32")
    positive, negative = np.split(points, 2)
    some = negative if fmt.bits < 16 else negative[::7]  # a scalar takes its time
    assert_like_scalar(np.concatenate([positive, some]), fmt, mode, None, True)


def assert_like_oracle(numbers: Floats, fmt: FloatFormat, *how: Any) -> None:
    wanted = rounded(numbers, fmt, *how)
    assert_same(quantize(numbers, fmt, *how), wanted, numbers, (fmt.name, how))
    if fmt.bits <= 16:
        found = values_of(fmt)[encode_array(numbers, fmt, *how)]
        assert_same(found, wanted, numbers, ("codes", fmt.name, how))


@NARROW
def test_every_code_and_midpoint_and_one_step_beside_it_rounds_exactly(fmt: FloatFormat) -> None:
    for dtype in DTYPES if within_float32(fmt) else DTYPES[1:]:
        points = codes_and_midpoints(fmt, dtype)
        for mode, overflow, subnormals in settings(fmt):
            # What overflow and subnormals change is the same all over: fewer points do.
            some = points if overflow is None and subnormals else points[::13]
            assert_like_oracle(some, fmt, mode, overflow, subnormals)


@ALL
def test_ten_thousand_random_float32_patterns_round_exactly_in_every_mode(
    fmt: FloatFormat,
) -> None:
    dtype = "float32" if within_float32(fmt) else "float64"
    numbers = random_patterns(10_000, dtype, fmt.bits)
    numbers = allowed(np.concatenate([numbers, random_near(fmt, 10_000, dtype, 7)]), fmt)
    for how in settings(fmt):
        assert_like_oracle(numbers, fmt, *how)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@ALL
def test_a_million_random_patterns_round_exactly_in_every_mode(
    fmt: FloatFormat, dtype: str
) -> None:
    dtype = dtype if within_float32(fmt) else "float64"
    numbers = random_patterns(1_000_000, dtype, fmt.bits + 1)
    numbers = allowed(np.concatenate([numbers, random_near(fmt, 200_000, dtype, 8)]), fmt)
    for how in settings(fmt):
        assert_like_oracle(numbers, fmt, *how)


@ALL
def test_the_kernel_gives_the_same_bits_in_torch_operations(fmt: FloatFormat) -> None:
    torch = pytest.importorskip("torch")
    dtype = "float32" if within_float32(fmt) else "float64"
    numbers = [random_patterns(2000, dtype, 3), random_near(fmt, 2000, dtype, 4)]
    numbers = allowed(np.concatenate([*numbers, np.zeros(2, dtype)]), fmt)
    source = FORMATS["fp32" if dtype == "float32" else "fp64"]
    for how in settings(fmt):
        rule = make_rule(fmt, source, *how, None, False)
        with np.errstate(invalid="ignore"):
            work = torch.from_numpy(numbers.astype(f"float{rule.work.bits}"))
        patterns = work.view(torch.int32 if rule.work is FORMATS["fp32"] else torch.int64)
        found = round_patterns(patterns, rule, "codes", TorchOps()).numpy()
        assert (found.astype(f"uint{rule.work.bits}") == encode_array(numbers, fmt, *how)).all()
        values = round_patterns(patterns, rule, "values", TorchOps()).view(work.dtype).numpy()
        assert_same(values, rounded(numbers, fmt, *how), numbers, (fmt.name, how))


@NARROW
def test_every_code_decodes_as_the_scalar_decodes_it(fmt: FloatFormat) -> None:
    codes = np.arange(1 << fmt.bits)
    assert_same(decode_array(codes, fmt, "float64"), values_of(fmt), codes, fmt.name)


@pytest.mark.parametrize("fmt", WIDE, ids=lambda fmt: fmt.name)
def test_random_codes_of_wide_formats_decode_as_the_scalar_decodes_them(fmt: FloatFormat) -> None:
    rng = np.random.default_rng(fmt.bits)
    codes = rng.integers(0, 1 << (fmt.bits - 1), 3000, dtype=np.uint64)
    codes |= rng.integers(0, 2, 3000, dtype=np.uint64) << np.uint64(fmt.bits - 1)
    special = [0, 1, 1 << fmt.significand_bits, fmt.largest_code, fmt.infinity_code, fmt.nan_code]
    codes = np.concatenate([codes, np.array(special, np.uint64)])
    wanted = np.array([decode(code, fmt).value for code in codes.tolist()])
    assert_same(decode_array(codes, fmt, "float64"), wanted, codes, fmt.name)
