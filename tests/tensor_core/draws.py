"""Random operands of every kind: by value, by code with infinities and NaN, tiny, cancelling."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ampcourse.tensor_core import Configuration

Floats = NDArray[np.float64]

KINDS = ("ordinary", "wide", "codes", "tiny", "cancelling")
DTYPES: dict[str, type] = {
    "fp32": np.float32,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
_BITS = {"fp32": 32, "tf32": 32, "fp16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8}


def rounded(x: Floats, fmt: str) -> Floats:
    """Round to a format with numpy or ml_dtypes, TF32 by dropping bits."""
    with np.errstate(over="ignore"):
        if fmt != "tf32":
            return x.astype(DTYPES[fmt]).astype(np.float64)
        bits = x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32).astype(np.float64)


def any_code(rng: np.random.Generator, shape: tuple[int, ...], fmt: str) -> Floats:
    """Draw codes, so infinities, NaN, zeros and subnormals too."""
    bits = _BITS[fmt]
    codes = rng.integers(0, 1 << bits, shape, dtype=np.uint64)
    if fmt == "tf32":
        codes &= 0xFFFFE000
    unsigned = {8: np.uint8, 16: np.uint16, 32: np.uint32}[bits]
    values: NDArray[Any] = codes.astype(unsigned).view(DTYPES.get(fmt, np.float32))
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def tiny(rng: np.random.Generator, shape: tuple[int, ...], rule: Configuration) -> Floats:
    """Draw zeros and numbers of a few exponents whose products lie where the output ends."""
    fmt = rule.input
    below = max(fmt.emin, (rule.output.emin - fmt.significand_bits) // 2 - 4)
    exponents = below + rng.integers(0, 5, shape)
    values = np.ldexp(rng.uniform(-2, 2, shape), exponents)
    return np.where(rng.random(shape) < 0.2, 0.0, rounded(values, fmt.name))


def vectors(
    rng: np.random.Generator, rule: Configuration, count: int, length: int, kind: str
) -> tuple[Floats, Floats, Floats]:
    """Draw a and b (count, length) and c (count), exact in the formats of a configuration."""
    shape, fmt, out = (count, length), rule.input_format, rule.output_format
    a, b = (rounded(rng.standard_normal(shape), fmt) for _ in "ab")
    c = rounded(rng.standard_normal(count) * 2, out)
    if kind == "wide":
        spread = 2.0 ** rng.integers(-9, 7, shape)
        a, b = (rounded(np.clip(x * spread, -300, 300), fmt) for x in (a, b))
        c = rounded(c * 2.0 ** rng.integers(-30, 12, count), out)
    if kind == "codes":
        # One number in ten, or a whole NaN-free vector could hardly come about.
        a, b = (np.where(rng.random(shape) < 0.1, any_code(rng, shape, fmt), x) for x in (a, b))
        c = any_code(rng, (count,), out)
    if kind == "tiny":
        a, b = tiny(rng, shape, rule), tiny(rng, shape, rule)
        smallest = float(rule.output.smallest)
        c = np.where(rng.random(count) < 0.5, 0.0, rng.integers(-99, 99, count) * smallest)
    if kind == "cancelling":
        half = length // 2
        a[:, half : 2 * half], b[:, half : 2 * half] = a[:, :half], -b[:, :half]
        c = rounded(c * 2.0 ** rng.integers(-24, -8, count), out)
    return a, b, c
