"""A block taken apart: terms, what falls off, the sums, and both results."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from ampcourse.tensor_core import CONFIGURATIONS, Configuration, block_terms, dot_product
from tests.tensor_core.draws import vectors
from tests.tensor_core.sums import label

BLOCKS = [rule for rule in CONFIGURATIONS if not rule.emulated]


def test_a_block_shows_every_step() -> None:
    # 1.5 x 1.5 - 2^-24 x 1 + (1 + 2^-23): exponents 0, -14 and 0, F = 23 on V100.
    block = block_terms([1.5, -(2.0**-24)], [1.5, 1.0], 1 + 2.0**-23, gpu="V100")
    first, second, third, _, c = block.terms
    assert [term.index for term in block.terms] == [0, 1, 2, 3, None]
    assert (first.product, first.exponent, first.lost) == (Fraction(9, 4), 0, 0)
    assert (second.product, second.exponent) == (-Fraction(1, 2**24), -14)
    assert (second.truncated, second.lost) == (0, -Fraction(1, 2**24))
    assert (third.product, third.exponent) == (0, -131)
    assert (c.a, c.b, c.exponent, c.value) == (1 + 2.0**-23, None, 0, 1 + 2.0**-23)
    assert (block.emax, block.quantum) == (0, Fraction(1, 2**23))
    assert block.truncated_sum == Fraction(13, 4) + Fraction(1, 2**23)
    assert block.exact_sum == Fraction(13, 4) + Fraction(1, 2**24)
    assert block.result == 3.25
    assert block.correctly_rounded == 3.25
    assert block.configuration.gpu == "V100"


def test_the_correctly_rounded_result_stands_beside_the_hardware_s() -> None:
    block = block_terms([1.0, 1.0], [2.0, 3 * 2.0**-24], gpu="H100")
    assert (block.result, block.correctly_rounded) == (2.0, 2 + 2.0**-22)
    block = block_terms([1.0], [2.0], 3 * 2.0**-24, gpu="V100")
    assert (block.result, block.correctly_rounded) == (2.0, 2 + 2.0**-22)


@pytest.mark.parametrize("rule", BLOCKS, ids=label)
def test_correctly_rounded_is_numpy_s_rounding_of_the_exact_sum(rule: Configuration) -> None:
    rng = np.random.default_rng(BLOCKS.index(rule))
    a, b, c = vectors(rng, rule, 3, rule.block_length, "ordinary")
    for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
        block = block_terms(
            x, y, z, rule.gpu, rule.input_format, rule.output_format, rule.instruction
        )
        # These sums fit float64, so fsum is exact and numpy rounds once.
        exact = math.fsum(p * q for p, q in zip(x, y, strict=True)) + 0.0
        exact = math.fsum([*(p * q for p, q in zip(x, y, strict=True)), z])
        kind = np.float16 if rule.output_format == "fp16" else np.float32
        assert block.correctly_rounded == float(kind(exact))
        assert block.exact_sum == Fraction(exact)


@pytest.mark.parametrize("rule", BLOCKS, ids=label)
def test_what_a_block_shows_hangs_together(rule: Configuration) -> None:
    rng = np.random.default_rng(BLOCKS.index(rule) + 1)
    a, b, c = vectors(rng, rule, 2, rule.block_length, "wide")
    how = (rule.gpu, rule.input_format, rule.output_format, rule.instruction)
    for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
        block = block_terms(x, y, z, *how)
        assert block.quantum is not None
        assert len(block.terms) == rule.block_length + 1
        for term in block.terms:
            assert term.product == Fraction(term.value)
            assert term.truncated + term.lost == term.product  # type: ignore[operator]
            assert abs(term.lost) < block.quantum  # type: ignore[arg-type]
            assert abs(term.truncated) <= abs(term.product)  # type: ignore[arg-type]
            assert (term.truncated / block.quantum).denominator == 1  # type: ignore[operator]
        assert block.truncated_sum == sum(term.truncated or 0 for term in block.terms)
        assert block.emax == max(term.exponent for term in block.terms)  # type: ignore[type-var]
        assert block.result == dot_product(x, y, z, *how)


def test_an_infinity_or_nan_leaves_only_the_results() -> None:
    block = block_terms([math.inf, 2.0], [1.0, 3.0], 5.0, gpu="A100")
    assert (block.result, block.correctly_rounded) == (math.inf, math.inf)
    assert (block.emax, block.quantum, block.truncated_sum, block.exact_sum) == (None,) * 4
    assert (block.terms[0].product, block.terms[0].value) == (None, math.inf)
    assert block.terms[1].product == 6
    assert math.isnan(block_terms([math.inf], [0.0]).result)
    assert math.isnan(block_terms([1.0], [1.0], math.nan).result)


def test_a_block_is_filled_up_and_never_longer_than_the_hardware_s() -> None:
    assert len(block_terms([1.0], [1.0], gpu="A100", input_format="tf32").terms) == 5
    with pytest.raises(ValueError, match="5 products do not fit one block of V100, which holds 4"):
        block_terms([1.0] * 5, [1.0] * 5, gpu="V100")


def test_emulated_fp8_is_not_one_block() -> None:
    with pytest.raises(ValueError, match="emulated by two fp16 blocks"):
        block_terms([1.0], [1.0], gpu="H100", input_format="e4m3", instruction="mma.sync")


def test_records_are_frozen() -> None:
    block = block_terms([1.0], [1.0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        block.result = 2.0  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        block.terms[0].lost = None  # type: ignore[misc]
