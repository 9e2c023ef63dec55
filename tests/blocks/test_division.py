"""A quotient rounded to odd is the exact quotient for every rounding after it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ampcourse.blocks.division import divide_to_odd
from ampcourse.encode import encode
from ampcourse.formats import FP64


def divisors(count: int, rng: np.random.Generator) -> np.ndarray:
    bits = rng.integers(1 << 27, 1 << 28, count)
    return np.ldexp(bits.astype(np.float64), rng.integers(-160, 100, count))


def test_quotients_are_rounded_to_odd() -> None:
    rng = np.random.default_rng(1)
    x = np.ldexp(rng.uniform(-1, 1, 2000), rng.integers(-120, 120, 2000))
    d = divisors(2000, rng)
    x[:500] = np.ldexp(np.rint(np.ldexp(rng.uniform(-1, 1, 500), 20)), -7) * d[:500]  # exact
    found = divide_to_odd(x, d).view(np.int64).tolist()
    for number, divisor, bits in zip(x.tolist(), d.tolist(), found, strict=True):
        assert bits & (2**64 - 1) == encode(Fraction(number) / Fraction(divisor), FP64, "to_odd")


def test_torch_gives_the_same_bits() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    x, d = rng.standard_normal(500), divisors(500, rng)
    ours = divide_to_odd(torch.from_numpy(x), torch.from_numpy(d)).numpy()
    assert np.array_equal(ours.view(np.int64), divide_to_odd(x, d).view(np.int64))


def test_what_is_not_finite_stays_so() -> None:
    with np.errstate(invalid="ignore"):
        found = divide_to_odd(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0]), np.full(5, 3.0))
    assert found[:2].tolist() == [np.inf, -np.inf]
    assert np.isnan(found[2])
    assert found[3:].view(np.uint64).tolist() == [0, 1 << 63]
