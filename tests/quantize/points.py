"""Inputs that rounding gets wrong first, and how results are compared."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ampcourse.decode import decode
from ampcourse.encode import Overflow
from ampcourse.formats import FORMATS, FloatFormat, ieee_like
from ampcourse.rounding import MODES

Floats = Any  # a numpy array of float32 or float64

#: Formats of 16 bits or fewer: those of the table, and shapes at the edges of what fits.
SMALL = [fmt for fmt in FORMATS.values() if fmt.bits <= 16] + [
    ieee_like(*widths) for widths in ((4, 3), (2, 1), (2, 8), (3, 4), (7, 4), (8, 1), (9, 3))
]
#: Wider ones; those with more than 8 exponent bits or 23 significand bits are beyond FP32.
WIDE = [FORMATS["tf32"], FORMATS["fp32"], FORMATS["fp64"]] + [
    ieee_like(*widths) for widths in ((5, 23), (7, 22), (8, 22), (8, 30), (10, 40), (11, 20))
]
INTS: dict[str, Any] = {"float32": np.uint32, "float64": np.uint64}


def settings(fmt: FloatFormat) -> Iterator[tuple[str, Overflow, bool]]:
    """Every mode with every overflow and subnormals that the format allows."""
    overflows: tuple[Overflow, ...] = (None, "saturate", "infinity")
    for mode in MODES:
        for overflow in overflows[: 3 if fmt.has_nan else 2]:
            yield mode, overflow, True
        yield mode, None, False


@cache
def values_of(fmt: FloatFormat) -> Floats:
    """The values of all codes, by the scalar reference; float64 holds them."""
    return np.array([decode(code, fmt).value for code in range(1 << fmt.bits)])


@cache
def codes_and_midpoints(fmt: FloatFormat, dtype: str) -> Floats:
    """Every value, every midpoint, and the dtype's next numbers on both sides of each."""
    values = values_of(fmt)
    finite = np.unique(np.abs(values[np.isfinite(values)]))
    following = 2 * finite[-1] - finite[-2] if fmt.significand_bits else 2 * finite[-1]
    finite = np.append(finite, following)
    exact = np.concatenate([finite, finite[:-1] / 2 + finite[1:] / 2, [0.0]])
    infinity = np.array(np.inf, dtype)
    with np.errstate(over="ignore", under="ignore"):
        exact = exact.astype(dtype)
        points = np.concatenate(
            [exact, np.nextafter(exact, -infinity), np.nextafter(exact, infinity), [infinity]]
        ).astype(dtype)
        points = np.abs(points)
    return np.concatenate([points, -points])


def random_patterns(count: int, dtype: str, seed: int, nans: bool = True) -> Floats:
    """Random bit patterns: every exponent, subnormals, infinities and NaNs with payloads."""
    ints = INTS[dtype]
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, np.iinfo(ints).max, count, dtype=ints, endpoint=True)
    numbers = patterns.view(dtype)
    return numbers if nans else numbers[~np.isnan(numbers)]


def random_near(fmt: FloatFormat, count: int, dtype: str, seed: int) -> Floats:
    """Random numbers of all exponents that matter to a format, in a dtype's full precision."""
    rng = np.random.default_rng(seed)
    lowest = max(fmt.emin - fmt.significand_bits - 3, -1074)
    highest = min(fmt.emax + 2, 1023)
    exponents = rng.integers(lowest, highest, count)
    with np.errstate(over="ignore", under="ignore"):
        numbers = np.ldexp(rng.uniform(1, 2, count), exponents).astype(dtype)
    return np.where(rng.random(count) < 0.5, -numbers, numbers)


def bits(numbers: Floats) -> Any:
    """The bit patterns of floats, for comparing -0 with 0 and NaN with NaN."""
    return numbers.view(INTS[str(numbers.dtype)])


def assert_same(found: Floats, wanted: Floats, inputs: Floats, what: object) -> None:
    """Compare two float64 arrays bit by bit and show the first inputs that differ."""
    different = np.flatnonzero(bits(found.astype("f8")) != bits(wanted.astype("f8")))
    first = [
        (float(inputs[i]).hex(), float(found[i]).hex(), float(wanted[i]).hex())
        for i in different[:3]
    ]
    assert not first, f"{what}: input, found, wanted: {first} and {len(different)} in all"
