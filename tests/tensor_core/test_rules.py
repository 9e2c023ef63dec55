"""Each rule of a Tensor Core by sums worked out by hand, for every configuration it is part of.

Expected values are written as powers of two from L, F and the exponents of zero in `sums`; each
sum is such that the rule being otherwise would change it. Most have a product of 2^10 and its
negative, so that the others lose what lies below 2^(10 - F) and what is left is seen.
"""

from __future__ import annotations

import math

import numpy as np

from ampcourse.tensor_core import Configuration
from tests.tensor_core.sums import each, limits, split, total

BIG, MINUS_BIG = (2.0**5, 2.0**5), (-(2.0**5), 2.0**5)


def kept(rule: Configuration) -> float:
    """Return the smallest power of two that is kept beside 2^10."""
    return 2.0 ** (10 - limits(rule)[1])


def is_plus_zero(x: float) -> bool:
    return x == 0 and math.copysign(1, x) == 1


# Alignment: one quantum for all terms, cut toward zero.


@each()
def test_c_keeps_the_quantum_and_loses_half_of_it(rule: Configuration) -> None:
    assert total(rule, [BIG, MINUS_BIG], kept(rule)) == kept(rule)
    assert is_plus_zero(total(rule, [BIG, MINUS_BIG], kept(rule) / 2))


@each()
def test_c_is_cut_toward_zero(rule: Configuration) -> None:
    assert total(rule, [BIG, MINUS_BIG], 1.5 * kept(rule)) == kept(rule)
    assert total(rule, [BIG, MINUS_BIG], -1.5 * kept(rule)) == -kept(rule)
    assert is_plus_zero(total(rule, [BIG, MINUS_BIG], -kept(rule) / 2))


@each()
def test_products_are_cut_toward_zero_one_by_one(rule: Configuration) -> None:
    x, y = split(1.5 * kept(rule))
    assert total(rule, [BIG, MINUS_BIG, (x, y), (x, y)]) == 2 * kept(rule)
    assert total(rule, [BIG, MINUS_BIG, (-x, y), (x, -y)]) == -2 * kept(rule)


@each()
def test_place_in_a_block_does_not_matter(rule: Configuration) -> None:
    x, y = split(1.5 * kept(rule))
    last = limits(rule)[0] - 1
    for places in ((0, 1, 2), (1, 2, 0), (2, last, 1), (last, 0, 1)):
        products = dict(zip(places, (BIG, MINUS_BIG, (x, y)), strict=True))
        assert total(rule, products) == kept(rule)


@each()
def test_exponents_of_products_are_not_normalised(rule: Configuration) -> None:
    # 48 x 48 = 2.25 x 2^10: with exponent 10 the quantum is kept, with exponent 11 it is not.
    assert total(rule, [(48.0, 48.0), (-48.0, 48.0)], kept(rule)) == kept(rule)


@each()
def test_products_are_exact(rule: Configuration) -> None:
    # (2 - eps)^2 has all the bits that a product can have; less 4 it is -4 eps + eps^2.
    eps = float(rule.input.eps)
    exact = -4 * eps + eps * eps
    if rule.output_format == "fp16":
        exact = float(np.float16(exact))
    assert total(rule, [(2 - eps, 2 - eps), (-2.0, 2.0)]) == exact


# Operands: subnormals are used, with the smallest exponent of their format.


@each("fp16 e4m3 e5m2")
def test_subnormal_operands_are_used(rule: Configuration) -> None:
    smallest = float(rule.input.smallest)
    assert total(rule, [(smallest, 1.0)]) == smallest
    assert total(rule, [(-smallest, 4.0)]) == -4 * smallest


@each("fp16 e5m2", output="fp32")
def test_subnormal_operands_align_with_emin(rule: Configuration) -> None:
    # 2^-16 x 1 has exponent -14, so beside it the quantum is 2^(-14 - F), not 2^(-16 - F).
    subnormal, quantum = (2.0**-16, 1.0), 2.0 ** (-14 - limits(rule)[1])
    minus = (-(2.0**-16), 1.0)
    assert total(rule, [subnormal, minus], quantum) == quantum
    assert total(rule, [subnormal, minus], quantum / 2) == 0


@each("e4m3", output="fp32")
def test_subnormal_e4m3_operands_align_with_emin(rule: Configuration) -> None:
    subnormal, quantum = (2.0**-9, 1.0), 2.0 ** (-6 - limits(rule)[1])
    assert total(rule, [subnormal, (-(2.0**-9), 1.0)], quantum) == quantum
    assert total(rule, [subnormal, (-(2.0**-9), 1.0)], quantum / 2) == 0


@each("fp16", output="fp16")
def test_subnormal_operands_align_with_emin_for_fp16_output_too(rule: Configuration) -> None:
    # 2^-16 x 2^15 has exponent 1: each of the others is half a quantum, their sum is not.
    L, F, _ = limits(rule)
    pair = [(2.0**-16, 2.0**15), (-(2.0**-16), 2.0**15)]
    assert total(rule, pair + [split(2.0 ** (1 - F))] * (L - 2)) == (L - 2) * 2.0 ** (1 - F)
    assert total(rule, pair + [split(2.0 ** (-F))] * (L - 2)) == 0


@each("bf16 tf32")
def test_a_subnormal_c_aligns_with_emin(rule: Configuration) -> None:
    # Beside C = 2^-149 the quantum is 2^(-126 - F), which is 2^-150 or 2^-151.
    L, F, _ = limits(rule)
    quantum = 2.0 ** (-126 - F)
    assert total(rule, [split(quantum / 2)] * min(L, 8), 2.0**-149) == 2.0**-149
    assert total(rule, [split(quantum)] * 4, 2.0**-149) == 2.0**-149 + 4 * quantum


@each("fp16", output="fp16")
def test_a_subnormal_fp16_c_aligns_with_emin(rule: Configuration) -> None:
    # 2.5 units in the last place are a tie, which anything more would break.
    F = limits(rule)[1]
    tie = (2.0**-12, 2.0**-13)
    assert total(rule, [tie, split(2.0 ** (-15 - F))], 2.0**-23) == 2.0**-23
    assert total(rule, [tie, split(2.0 ** (-14 - F))], 2.0**-23) == 3 * 2.0**-24


# Zero has an exponent.


@each("bf16 tf32")
def test_zero_has_its_exponent_for_fp32_output(rule: Configuration) -> None:
    # What is just below 2^-149 and what it lacks: both are kept, or both lose a bit.
    _, F, Z = limits(rule)
    quantum = 2.0 ** (Z - F)
    for unit, result in ((quantum, 2.0**-149), (quantum / 2, 0.0)):
        count = int(2.0**-149 / unit) - 1
        factor = {127: 127, 255: 15, 511: 73, 1023: 31}[count]
        x, y = split(unit)
        assert total(rule, [(factor * x, count // factor * y), (x, y)]) == result


@each("fp16", output="fp16")
def test_zero_has_its_exponent_for_fp16_output(rule: Configuration) -> None:
    # 2^-25 is a tie between 0 and 2^-24, which a bit that is kept would break.
    _, F, Z = limits(rule)
    tie = (2.0**-12, 2.0**-13)
    assert total(rule, [tie, split(2.0 ** (Z - F))]) == 2.0**-24
    assert total(rule, [tie, split(2.0 ** (Z - F - 1))]) == 0


# Blocks.


@each()
def test_products_of_one_block_are_cut_together(rule: Configuration) -> None:
    L, F, _ = limits(rule)
    small = split(2.0 ** (9 - F))
    places = dict.fromkeys(range(L - 1), small) | {L - 1: MINUS_BIG}
    assert total(rule, places) == -(2.0**10)


@each(output="fp32")
def test_the_result_of_a_block_is_the_c_of_the_next(rule: Configuration) -> None:
    L, F, _ = limits(rule)
    small = split(2.0 ** (9 - F))
    places = dict.fromkeys(range(L), small) | {L: MINUS_BIG}
    assert total(rule, places) == -(2.0**10) + L * 2.0 ** (9 - F)
    reverse = {0: MINUS_BIG} | dict.fromkeys(range(L, 2 * L), small)
    assert total(rule, reverse) == -(2.0**10)


@each(output="fp16")
def test_a_block_with_fp16_output_is_rounded_to_fp16_before_the_next(rule: Configuration) -> None:
    # 2048 + 1 + 1 in one block is 2050; one by one each 1 is lost in a tie.
    L = limits(rule)[0]
    two_k = (64.0, 32.0)
    assert total(rule, {0: two_k, L - 2: 1.0, L - 1: 1.0}) == 2050
    assert total(rule, {0: two_k, L - 1: 1.0, L: 1.0}) == 2048
    assert total(rule, {0: two_k, L // 2 - 1: 1.0, L // 2: 1.0}, length=L) == 2050


@each()
def test_c_is_part_of_the_first_block(rule: Configuration) -> None:
    L = limits(rule)[0]
    assert total(rule, {0: BIG, L: MINUS_BIG}, 0.5 * kept(rule)) == 0
    assert total(rule, {L: BIG, L + 1: MINUS_BIG}, kept(rule)) == kept(rule)


@each()
def test_a_short_last_block_is_filled_up_with_zeros(rule: Configuration) -> None:
    L = limits(rule)[0]
    for length in (1, L - 1, L, L + 1, 3 * L - 1):
        assert total(rule, [1.0] * length, 1.0) == length + 1


# The final rounding.


@each(output="fp32")
def test_fp32_output_is_cut_toward_zero(rule: Configuration) -> None:
    # 5 + 3/4 of a unit in the last place.
    unit = 2.0 ** (-13 if limits(rule)[1] == 13 else -23)
    assert total(rule, [1.0] * 4, 1 + 3 * unit) == 5
    assert total(rule, [-1.0] * 4, -1 - 3 * unit) == -5
    assert total(rule, [1.0] * 4, 1 + 4 * unit) == 5 + 4 * unit


@each("e4m3 e5m2", output="fp32", narrow=True)
def test_fp8_output_keeps_13_fraction_bits(rule: Configuration) -> None:
    assert total(rule, [1.0] * 4, 1 + 2.0**-13) == 5
    assert total(rule, [16.0, 2.0**-9, 16.0]) == 32
    assert total(rule, [-16.0, -(2.0**-9), -16.0]) == -32


@each("bf16 tf32 fp16", output="fp32")
def test_other_fp32_output_keeps_23_fraction_bits(rule: Configuration) -> None:
    c = 1 + 5 * 2.0**-23
    assert total(rule, [], c, length=1) == c
    assert total(rule, [2.0**-3], c) == c + 2.0**-3


@each(output="fp16")
def test_fp16_output_is_rounded_to_nearest_even(rule: Configuration) -> None:
    two_k = (64.0, 32.0)
    for extra, result in ((1.0, 2048), (3.0, 2052), (0.5, 2048), (1.5, 2050)):
        assert total(rule, [two_k, extra]) == result
        assert total(rule, [(-64.0, 32.0), -extra]) == -result


@each("fp16", output="fp16")
def test_a_subnormal_fp16_result_is_rounded_to_nearest_even(rule: Configuration) -> None:
    for eighths, units in ((3, 0), (4, 0), (5, 1), (12, 2), (20, 2), (21, 3)):
        x, y = split(2.0**-27)
        assert total(rule, [(eighths * x, y)]) == units * 2.0**-24
        assert total(rule, [(-eighths * x, y)]) == -units * 2.0**-24
    assert is_plus_zero(total(rule, [(-(2.0**-14), 2.0**-14)]))


@each("bf16 tf32")
def test_a_subnormal_fp32_result_is_cut_toward_zero(rule: Configuration) -> None:
    x, y = split(2.0**-150)
    assert total(rule, [(3 * x, y)]) == 2.0**-149
    assert total(rule, [(-3 * x, y)]) == -(2.0**-149)
    assert is_plus_zero(total(rule, [(-x, y)]))
    assert total(rule, [split(2.0**-130), (2 * x, y)]) == 2.0**-130 + 2.0**-149


@each("e4m3 e5m2", output="fp32", narrow=True)
def test_a_subnormal_c_of_fp8_keeps_bits_down_to_2_to_minus_139(rule: Configuration) -> None:
    assert total(rule, [], 2.0**-127 + 2.0**-139 + 2.0**-140, length=1) == 2.0**-127 + 2.0**-139


@each("bf16 tf32 fp16", output="fp32")
def test_a_subnormal_c_passes_through(rule: Configuration) -> None:
    for c in (2.0**-149, -(2.0**-127) + 2.0**-149):
        assert total(rule, [0.0], c) == c


@each("bf16 tf32")
def test_fp32_overflow_gives_infinity_though_it_rounds_toward_zero(rule: Configuration) -> None:
    largest = float(rule.output.max)
    for sign in (1, -1):
        assert total(rule, [(sign * 2.0**52, 2.0**51)], sign * largest) == sign * largest
        assert total(rule, [(sign * 2.0**52, 2.0**52)], sign * largest) == sign * math.inf
        assert total(rule, [(sign * 2.0**70, 2.0**70)]) == sign * math.inf


@each(output="fp16")
def test_fp16_overflow_starts_at_65520(rule: Configuration) -> None:
    for sign in (1, -1):
        assert total(rule, [sign * 8.0], sign * 65504.0) == sign * 65504
        assert total(rule, [(sign * 4.0, 4.0)], sign * 65504.0) == sign * math.inf
        assert total(rule, [(sign * 224.0, 224.0)] * 2) == sign * math.inf


# Infinity, NaN and the sign of zero, as modelled by mmasim 2.1.1.


@each("fp16 bf16 tf32 e5m2")
def test_infinities_and_nan_act_as_in_an_ieee_sum(rule: Configuration) -> None:
    inf, nan = math.inf, math.nan
    L = limits(rule)[0]
    assert total(rule, [(inf, 2.0), 1.0], 5.0) == inf
    assert total(rule, [(inf, -2.0), 1.0], 5.0) == -inf
    assert total(rule, {L: (-inf, -inf)}, -5.0) == inf
    assert total(rule, [(inf, 1.0)] * 2, inf) == inf
    for products, c in (([(inf, 0.0)], 1.0), ([inf, -inf], 1.0), ([inf], -inf), ([nan], 1.0)):
        assert math.isnan(total(rule, products, c))
    assert math.isnan(total(rule, {0: inf, L: -inf}))


@each()
def test_an_infinite_c_and_nan_come_through(rule: Configuration) -> None:
    L = limits(rule)[0]
    assert total(rule, [1.0, -3.0], math.inf) == math.inf
    assert total(rule, {L: 1.0}, -math.inf) == -math.inf
    for c in (0.0, math.inf, math.nan):
        assert math.isnan(total(rule, {1: (math.nan, 0.0)}, c))
    assert math.isnan(total(rule, [1.0], math.nan))


@each()
def test_no_result_is_minus_zero(rule: Configuration) -> None:
    assert is_plus_zero(total(rule, [(-0.0, 1.0)], -0.0))
    assert is_plus_zero(total(rule, [(-1.0, 1.0), (1.0, 1.0)], -0.0))


# FP8 where it is emulated: two FP16 blocks that start from 0, then C.


@each(output="fp32", emulated=True)
def test_emulated_fp8_adds_the_even_pairs_first(rule: Configuration) -> None:
    small = split(2.0**-16)
    even = [k for k in range(32) if k // 2 % 2 == 0]
    odd = [k for k in range(32) if k // 2 % 2 == 1]
    # In the first block with the big one, or in the second beside it, small ones are lost.
    assert total(rule, dict.fromkeys(even, small) | {2: MINUS_BIG}) == -(2.0**10) + 2.0**-12
    assert total(rule, dict.fromkeys(even[1:], small) | {0: MINUS_BIG}) == -(2.0**10)
    assert total(rule, dict.fromkeys(odd, small) | {0: MINUS_BIG}) == -(2.0**10)
    assert total(rule, dict.fromkeys(odd[1:], small) | {2: MINUS_BIG}) == -(2.0**10)


@each(emulated=True)
def test_emulated_fp8_adds_c_last(rule: Configuration) -> None:
    c = 2.0**-24 if rule.output_format == "fp16" else 2.0**-149
    assert total(rule, [BIG, MINUS_BIG], c) == c
    assert total(rule, {0: BIG, 33: MINUS_BIG}, c) == 0


@each(output="fp32", emulated=True)
def test_emulated_fp8_rounds_its_last_addition_to_nearest_even(rule: Configuration) -> None:
    for quarters, units in ((1, 0), (2, 0), (3, 1), (6, 2), (10, 2), (11, 3)):
        assert total(rule, [1.0], quarters * 2.0**-25) == 1 + units * 2.0**-23
        assert total(rule, [-1.0], -quarters * 2.0**-25) == -1 - units * 2.0**-23
    assert total(rule, [(16.0, 16.0)], float(rule.output.max)) == float(rule.output.max)


@each(output="fp32", emulated=True)
def test_emulated_fp8_cuts_its_blocks_at_25_bits_and_24(rule: Configuration) -> None:
    small = split(2.0**-15)
    assert total(rule, [BIG, MINUS_BIG, 0, 0, split(1.5 * 2.0**-15)]) == 2.0**-15
    assert total(rule, [BIG, small]) == 2.0**10  # 2^-15 fits the block but not fp32's 24 bits
    assert total(rule, [(48.0, 48.0), (-48.0, 48.0), 0, 0, small]) == 2.0**-15


@each(output="fp16", emulated=True)
def test_emulated_fp8_rounds_every_step_to_fp16(rule: Configuration) -> None:
    two_k = (64.0, 32.0)
    assert total(rule, {0: two_k, 1: 1.0, 4: 1.0}) == 2050
    assert total(rule, {0: two_k, 1: 1.0, 2: 1.0}) == 2048
    assert total(rule, {0: two_k, 2: 1.0, 3: 0.5}, 1.0) == 2052
    assert total(rule, {0: two_k}, 1.0) == 2048
    assert total(rule, {0: two_k}, 3.0) == 2052
    assert total(rule, [(16.0, 1.0)], 65504.0) == math.inf


@each("e5m2", emulated=True)
def test_emulated_fp8_passes_infinities_and_nan_on(rule: Configuration) -> None:
    assert total(rule, {3: math.inf}, 1.0) == math.inf
    assert math.isnan(total(rule, {3: math.inf}, -math.inf))
    assert math.isnan(total(rule, {2: math.inf, 0: -math.inf}))
    assert math.isnan(total(rule, {2: (math.inf, 0.0)}))
    assert math.isnan(total(rule, [1.0], math.nan))
    assert is_plus_zero(total(rule, [(-0.0, 1.0)], -0.0))
