"""Stochastic rounding, by counting: all random integers for few bits, a sample for many."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import FORMATS, ieee_like
from ampcourse.quantize import encode_array, quantize
from tests.quantize.points import random_near, random_patterns

FORMAT_NAMES = ["fp16", "bf16", "tf32", "e5m2", "e4m3", "e3m2", "e2m1", "e8m0"]


class Counting:
    """A generator that draws given integers, for numpy and for the scalar reference."""

    def __init__(self, integer: int) -> None:
        self.integer = integer

    def integers(self, low: int, high: int, size: int, dtype: Any) -> Any:
        assert low <= self.integer < high
        return np.full(size, self.integer, dtype)

    def getrandbits(self, bits: int) -> int:
        assert self.integer < 1 << bits
        return self.integer


@pytest.mark.parametrize("bits", [1, 3, 8, 13, 16, 24, 32])
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_vector_and_scalar_do_the_same_with_the_same_random_integers(name: str, bits: int) -> None:
    fmt = FORMATS[name]
    random = Random(bits)
    for dtype in ("float32", "float64"):
        numbers = np.concatenate(
            [random_near(fmt, 12, dtype, bits), random_patterns(4, dtype, bits, nans=False)]
        )
        for integer in (0, (1 << bits) - 1, random.getrandbits(bits)):
            generator: Any = Counting(integer)
            found = encode_array(numbers, name, "stochastic", random_bits=bits, generator=generator)
            wanted = [
                encode(x, name, "stochastic", random_bits=bits, generator=generator)
                for x in numbers.tolist()
            ]
            assert found.tolist() == wanted, (integer, dtype)


@pytest.mark.parametrize("name", ["fp16", "bf16", "e4m3"])
def test_of_all_random_integers_the_floor_of_the_fraction_goes_up(name: str) -> None:
    fmt = FORMATS[name]
    bits = 6
    numbers = random_near(fmt, 200, "float32", 3)
    numbers = numbers[np.abs(numbers) < float(fmt.max)]
    below = quantize(numbers, fmt, "toward_zero")
    ups = np.zeros(len(numbers), int)
    for integer in range(1 << bits):
        generator: Any = Counting(integer)
        found = quantize(numbers, fmt, "stochastic", random_bits=bits, generator=generator)
        ups += found != below
    for x, low, up in zip(numbers.tolist(), below.tolist(), ups.tolist(), strict=True):
        code = encode(abs(low), fmt)
        quantum = Fraction(decode(code + 1, fmt).value) - Fraction(abs(low))
        fraction = (abs(Fraction(x)) - abs(Fraction(low))) / quantum
        assert up == math.floor(fraction * 2**bits), x


def libraries() -> list[Any]:
    return [pytest.param("numpy"), pytest.param("torch")]


def rounded_many(library: str, x: float, count: int, fmt: Any, **how: Any) -> Any:
    """Round one number many times with a seeded generator of the library."""
    if library == "numpy":
        generator: Any = np.random.default_rng(2026)
        numbers = np.full(count, x, np.float32)
    else:
        torch = pytest.importorskip("torch")
        generator = torch.Generator().manual_seed(2026)
        numbers = torch.full((count,), x)
    return np.asarray(quantize(numbers, fmt, "stochastic", generator=generator, **how))


@pytest.mark.parametrize("library", libraries())
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("bits", [4, 13, None])
def test_the_mean_is_the_number_on_both_sides_of_zero(
    library: str, sign: int, bits: int | None
) -> None:
    count, fraction = 40_000, 0.3125  # 5/16: four bits hold it
    x = sign * (1 + fraction * 2.0**-10)
    found = rounded_many(library, x, count, "fp16", random_bits=bits)
    assert set(found.tolist()) == {sign * 1.0, sign * (1 + 2.0**-10)}
    ups = int((np.abs(found) > 1).sum())
    # Six standard deviations of a binomial distribution: 1 in 5 * 10^8.
    assert abs(ups - count * fraction) < 6 * math.sqrt(count * fraction * (1 - fraction))


@pytest.mark.parametrize("library", libraries())
def test_all_fractions_go_up_in_their_proportion(library: str) -> None:
    count = 4000
    chi_square = 0.0
    for sixteenths in range(1, 16):
        p = sixteenths / 16
        found = rounded_many(library, -(1 + p * 2.0**-7), count, "bf16")
        ups = int((found < -1).sum())
        chi_square += (ups - count * p) ** 2 / (count * p * (1 - p))
    assert 3 < chi_square < 50  # 15 degrees of freedom: outside with probability 2e-5


@pytest.mark.parametrize("library", libraries())
def test_what_the_format_holds_never_moves(library: str) -> None:
    for x in (1.0, -0.0, 65504.0, 2.0**-24, math.inf):
        found = rounded_many(library, x, 1000, "fp16")
        assert (found == x).all()
        assert (np.signbit(found) == np.signbit(np.float32(x))).all()


def test_past_the_largest_number_the_chance_decides_between_it_and_infinity() -> None:
    found = rounded_many("numpy", 65512.0, 2000, "fp16")
    assert set(found.tolist()) == {65504.0, math.inf}
    saturated = rounded_many("numpy", 65512.0, 2000, "fp16", overflow="saturate")
    assert set(saturated.tolist()) == {65504.0}


def test_flushing_comes_after_the_draw() -> None:
    x = float(2.0**-14 * (1 - 2.0**-12))  # between the largest subnormal and the smallest normal
    found = rounded_many("numpy", x, 2000, "fp16", subnormals=False)
    assert set(found.tolist()) == {0.0, 2.0**-14}


def test_the_same_seed_gives_the_same_result_and_another_another() -> None:
    numbers = random_near(FORMATS["fp16"], 1000, "float32", 1)
    first, again, other = (
        quantize(numbers, "e5m2", "stochastic", generator=np.random.default_rng(seed)).tolist()
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_torch_follows_its_own_seed() -> None:
    torch = pytest.importorskip("torch")
    numbers = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    results = []
    for seed in (1, 1, 2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            results.append(quantize(numbers, "e5m2", "stochastic").tolist())
    assert results[0] == results[1] != results[2]


def test_neighbours_draw_different_integers() -> None:
    found = rounded_many("numpy", 1 + 2.0**-11, 64, "fp16")
    assert len(set(found.tolist())) == 2


@pytest.mark.parametrize(
    ("bits", "error", "message"),
    [
        (0, ValueError, "random_bits = 0 is outside 1 to 32"),
        (33, ValueError, "random_bits = 33 is outside 1 to 32"),
        (1.5, TypeError, "random_bits must be an int"),
        (True, TypeError, "random_bits must be an int"),
    ],
)
def test_random_bits_outside_the_range_are_refused(
    bits: Any, error: type[Exception], message: str
) -> None:
    numbers = np.ones(3, np.float32)
    with pytest.raises(error, match=message):
        quantize(numbers, "fp16", "stochastic", random_bits=bits)
    with pytest.raises(error, match=message):
        encode(1.0, "fp16", "stochastic", random_bits=bits)


def test_too_many_random_bits_for_a_wide_significand_are_refused() -> None:
    numbers = np.ones(3)
    wide = ieee_like(9, 40)
    with pytest.raises(ValueError, match="at most 21 can be drawn here"):
        quantize(numbers, wide, "stochastic")
    assert quantize(numbers, wide, "stochastic", random_bits=21).tolist() == [1, 1, 1]


def test_random_bits_without_the_stochastic_mode_are_refused() -> None:
    with pytest.raises(ValueError, match="mode 'up' draws no random bits"):
        quantize(np.ones(3), "fp16", "up", random_bits=3)
    with pytest.raises(ValueError, match="mode 'nearest_even' draws no random bits"):
        quantize(np.ones(3), "fp16", generator=np.random.default_rng(1))


def test_a_generator_of_the_wrong_library_is_refused() -> None:
    torch = pytest.importorskip("torch")
    for numbers, generator in (
        (np.ones(3), torch.Generator()),
        (np.ones(3), 42),
        (torch.ones(3), np.random.default_rng(1)),
        (torch.ones(3), Random(1)),
    ):
        with pytest.raises(TypeError, match="draws no numbers for a"):
            quantize(numbers, "fp16", "stochastic", generator=generator)
