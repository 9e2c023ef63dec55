"""Rounding arrays of FP32 or FP64 bit patterns, the vector twin of ``ampcourse.encode``.

Three steps, the same for every format and mode:

1. Place the magnitude between two codes: an integer ``position`` that counts in steps finer
   than the format's by ``guard_bits`` bits. The finest step may also mean "a little more".
2. Round the position to a whole number of the format's steps. This is where the mode matters:
   something is added so that the right positions carry, and the guard bits are cut off.
3. Turn the result into a code or into the bit pattern of the value, replace what is too large,
   and put the sign back.

Everything is done on magnitudes as integers, because the bit patterns of positive floats are in
the order of the numbers: comparing and clamping patterns compares and clamps numbers.
"""

from __future__ import annotations

from ampcourse.quantize.array_ops import Array, ArrayOps
from ampcourse.quantize.patterns import above, choose, negative, wrap
from ampcourse.quantize.rule import Rule, Target


def round_patterns(
    bits: Array, rule: Rule, target: Target, ops: ArrayOps, random: Array | None = None
) -> Array:
    """Round an array of signed integers that are patterns of ``rule.work``.

    ``random`` holds integers of ``rule.random_bits`` bits, one for each pattern, or None.
    Returns codes of ``rule.fmt`` or patterns of ``rule.work``, as signed integers of the same
    width. Raises ValueError for NaN, and for overflow to "infinity", in formats without it.
    """
    magnitude = bits & (rule.work.sign_mask - 1)
    place = _on_shared_exponents if rule.shares_exponents else _on_own_exponents
    rounded = place(magnitude, bits, rule, target, ops, random)
    rounded = _limit(rounded, bits, rule, target, ops)
    rounded = _replace_special(rounded, magnitude, bits, rule, target, ops)
    return rounded | _signs(bits, rule, target) if rule.fmt.signed else rounded


def _on_shared_exponents(
    magnitude: Array, bits: Array, rule: Rule, target: Target, ops: ArrayOps, random: Array | None
) -> Array:
    """Round where code and working pattern differ only in the length of the significand.

    The pattern is the position: BF16's codes are the upper halves of FP32's, subnormals
    included, and a carry out of the significand goes into the exponent as it should.
    """
    fmt, dropped = rule.fmt, rule.guard_bits
    position = magnitude
    if not fmt.has_subnormals:
        # E8M0's code 0 is 2^-127, where FP32 has subnormals. Doubling their distance to 2^-126
        # gives that binade the width of all others; what is below it would go under code 0.
        first_normal = 1 << rule.work.significand_bits
        position = ops.at_least(position + (ops.at_most(position, first_normal) - first_normal), 0)
    code = _round_off(position, bits, rule, ops, random)
    if not rule.subnormals and fmt.has_subnormals:
        code = _flush(code, rule)
    if target == "codes":
        return code
    pattern = code << dropped
    return pattern if fmt.has_subnormals else ops.at_least(pattern, 1 << (dropped - 1))


def _on_own_exponents(
    magnitude: Array, bits: Array, rule: Rule, target: Target, ops: ArrayOps, random: Array | None
) -> Array:
    """Round by dividing by the quantum, as the scalar reference does.

    The quantum is a power of two, so it and its inverse are made by integer arithmetic on
    exponent fields, and multiplying by them is exact. (Infinities and NaNs give nonsense here
    and are replaced later.)
    """
    fmt, work = rule.fmt, rule.work
    width, field = work.bits, work.significand_bits
    lowest = rule.lowest_exponent
    exponent = ops.at_least(magnitude & (work.largest_code + 1), lowest)
    inverse_of_one = (2 * work.bias + fmt.significand_bits + rule.scale_bits) << field
    inverse = wrap(inverse_of_one, work) - exponent
    quotient = ops.floats_of(magnitude, width) * ops.floats_of(inverse, width)
    if rule.whole_steps:
        quotient = ops.nearest_even(quotient)
    elif not rule.random_bits:
        # Twice the quotient if it is whole, the odd number in between if it is not: so the
        # last bit says whether a fraction was lost, which is all that rounding asks of it.
        quotient = ops.floor(quotient) + ops.ceil(quotient)
    quanta = _round_off(ops.as_ints(quotient, width), bits, rule, ops, random)
    implicit_bit = 1 << fmt.significand_bits
    if not fmt.has_subnormals:
        quanta = ops.at_least(quanta, implicit_bit)
    elif not rule.subnormals:
        quanta = _flush(quanta, rule)
    if target == "codes":
        # Each exponent has 2^t codes. The lowest normal ones, whose implicit bit is already
        # in the quanta, have biased exponent 1, or 0 in a format without subnormals.
        code = quanta + ((exponent - lowest) >> (field - fmt.significand_bits))
        return code if fmt.has_subnormals else code - implicit_bit
    quantum = exponent - (fmt.significand_bits << field)
    value = ops.as_floats(quanta, width) * ops.floats_of(quantum, width)
    return ops.float_bits(value, width)


def _round_off(
    position: Array, bits: Array, rule: Rule, ops: ArrayOps, random: Array | None
) -> Array:
    """Round positions to whole steps: add what makes the mode's numbers carry, then cut."""
    guard, mode = rule.guard_bits, rule.mode
    if guard == 0:
        return position
    if rule.shares_exponents and rule.fmt.significand_bits == 0:
        # The last bit of the code is the exponent's here, and the significand, a single 1, is
        # odd for good: ties go up (IEEE 754-2019, 4.3.1), and it is never made odd.
        mode = {"nearest_even": "nearest_away", "to_odd": "toward_zero"}.get(mode, mode)
    one, half = 1 << guard, 1 << (guard - 1)
    if mode == "toward_zero":
        return position >> guard
    if mode == "nearest_away":
        return (position + half) >> guard
    if mode == "nearest_even":
        # A tie carries only from an odd last bit.
        return (position + ((position >> guard) & 1) + (half - 1)) >> guard
    if mode == "to_odd":
        inexact = ((position & (one - 1)) + (one - 1)) >> guard
        return (position >> guard) | inexact
    if mode == "stochastic":
        return (position + _align(random, rule)) >> guard
    is_negative = negative(bits, rule.work)
    outward = ~is_negative if mode == "up" else is_negative
    return (position + (outward & (one - 1))) >> guard


def _align(random: Array, rule: Rule) -> Array:
    """Bring random integers to the width of the guard bits.

    Of too many the upper ones decide whether a carry comes out; below too few stand zeros,
    which cuts the fraction to their width.
    """
    surplus = rule.random_bits - rule.guard_bits
    if surplus <= 0:
        return random << -surplus
    # The mask takes away the copies of the sign that the shift brings in.
    return (random >> surplus) & ((1 << rule.guard_bits) - 1)


def _flush(steps: Array, rule: Rule) -> Array:
    """Replace subnormal results, which have no implicit bit, by zero."""
    return steps & above(steps, (1 << rule.fmt.significand_bits) - 1, rule.work)


def _limit(rounded: Array, bits: Array, rule: Rule, target: Target, ops: ArrayOps) -> Array:
    """Replace magnitudes beyond the format's largest."""
    largest = rule.largest(target)
    if rule.overflow == "infinity" and not rule.fmt.has_nan and not (rounded > largest).any():
        return rounded
    above_zero, below_zero = (rule.outcome("overflow", sign, target) for sign in (0, 1))
    if above_zero == below_zero and above_zero in (largest, largest + 1):
        return ops.at_most(rounded, above_zero)  # the same, in one pass
    too_large = above(rounded, largest, rule.work)
    if above_zero == below_zero:
        return choose(too_large, above_zero, rounded)
    instead = choose(negative(bits, rule.work), below_zero, above_zero)
    return choose(too_large, instead, rounded)


def _replace_special(
    rounded: Array, magnitude: Array, bits: Array, rule: Rule, target: Target, ops: ArrayOps
) -> Array:
    """Put in what NaNs, infinities and numbers outside an unsigned format become."""
    infinity = rule.work.largest_code + 1
    largest = magnitude.max()
    if largest >= infinity:
        not_finite = above(magnitude, infinity - 1, rule.work)
        rounded = choose(not_finite, rule.outcome("infinity", 0, target), rounded)
    if not rule.fmt.signed or not rule.fmt.has_zero:
        invalid = _lacking(bits, magnitude, rule)
        if invalid.any():
            rounded = choose(invalid, rule.outcome("invalid", 0, target), rounded)
    if largest > infinity:
        is_nan = above(magnitude, infinity, rule.work)
        rounded = choose(is_nan, rule.outcome("nan", 0, target), rounded)
    return rounded


def _lacking(bits: Array, magnitude: Array, rule: Rule) -> Array:
    """Mask the numbers whose sign, or whose zero, the format has no code for."""
    zero = ~above(magnitude, 0, rule.work)
    if rule.fmt.signed:
        return zero
    return negative(bits, rule.work) if rule.fmt.has_zero else negative(bits, rule.work) | zero


def _signs(bits: Array, rule: Rule, target: Target) -> Array:
    """Move the sign bits to where the result has them."""
    if target == "values":
        return bits & wrap(rule.work.sign_mask, rule.work)
    shift = rule.work.bits - rule.fmt.bits
    return (bits >> shift) & wrap(rule.fmt.sign_mask, rule.work)
