"""Rounding arrays of FP32 or FP64 bit patterns, the vector twin of ``ampcourse.encode``.

Three steps, the same for every format and mode:

1. Place the magnitude between two codes: an integer ``position`` that counts in steps finer
   than the format's by ``guard_bits`` bits. The finest step may also mean "a little more".
2. Round the position to a whole number of the format's steps. This is where the mode matters,
   and for all modes it is one addition and a shift.
3. Turn the result into a code or into the bit pattern of the value, replace what is too large,
   and put the sign back.

Everything is done on magnitudes as integers, because the bit patterns of positive floats are in
the order of the numbers: comparing and clamping patterns compares and clamps numbers.
"""

from __future__ import annotations

from ampcourse.encode import encode
from ampcourse.formats import FloatFormat
from ampcourse.quantize.array_ops import Array, ArrayOps
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
    rounded = _limit(rounded, bits, rule, target)
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
    exponent fields, and multiplying by them is exact.
    """
    fmt, work = rule.fmt, rule.work
    width, field = work.bits, work.significand_bits
    # What is beyond the format's exponents overflows in any case; this also keeps infinities
    # and NaNs, which are dealt with later, out of the arithmetic.
    magnitude = ops.at_most(magnitude, rule.beyond)
    lowest = rule.lowest_exponent
    exponent = ops.at_least(magnitude & (work.largest_code + 1), lowest)
    inverse_of_one = (2 * work.bias + fmt.significand_bits + rule.scale_bits) << field
    inverse = _wrap(inverse_of_one, work) - exponent
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
    negative = _negative(bits, rule)
    outward = ~negative if mode == "up" else negative
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
    return steps & _above(steps, (1 << rule.fmt.significand_bits) - 1, rule)


def _limit(rounded: Array, bits: Array, rule: Rule, target: Target) -> Array:
    """Replace magnitudes beyond the format's largest."""
    too_large = _above(rounded, rule.largest(target), rule)
    if rule.overflow == "infinity" and not rule.fmt.has_nan and not too_large.any():
        return rounded
    positive, negative = (rule.outcome("overflow", sign, target) for sign in (0, 1))
    if positive == negative:
        return _choose(too_large, positive, rounded)
    return _choose(too_large, _choose(_negative(bits, rule), negative, positive), rounded)


def _replace_special(
    rounded: Array, magnitude: Array, bits: Array, rule: Rule, target: Target, ops: ArrayOps
) -> Array:
    """Put in what NaNs, infinities and numbers outside an unsigned format become."""
    infinity = rule.work.largest_code + 1
    largest = magnitude.max()
    if largest >= infinity:
        not_finite = _above(magnitude, infinity - 1, rule)
        rounded = _choose(not_finite, rule.outcome("infinity", 0, target), rounded)
    if not rule.fmt.signed or not rule.fmt.has_zero:
        invalid = _lacking(bits, magnitude, rule)
        if invalid.any():
            rounded = _choose(invalid, rule.outcome("invalid", 0, target), rounded)
    if largest > infinity:
        is_nan = _above(magnitude, infinity, rule)
        rounded = _choose(is_nan, rule.outcome("nan", 0, target), rounded)
    return rounded


def _lacking(bits: Array, magnitude: Array, rule: Rule) -> Array:
    """Mask the numbers whose sign, or whose zero, the format has no code for."""
    zero = ~_above(magnitude, 0, rule)
    if rule.fmt.signed:
        return zero
    return _negative(bits, rule) if rule.fmt.has_zero else _negative(bits, rule) | zero


# Where a condition holds, a mask is all ones, that is -1, and elsewhere 0. Choosing with
# masks takes the same time whatever the data; np.where and torch.where are up to 20 times
# slower on conditions that a processor cannot foresee.


def _above(magnitude: Array, limit: int, rule: Rule) -> Array:
    """Mask the magnitudes over a limit: the sign of the difference, spread over all bits."""
    return (limit - magnitude) >> (rule.work.bits - 1)


def _negative(bits: Array, rule: Rule) -> Array:
    """Mask the numbers with a sign bit."""
    return bits >> (rule.work.bits - 1)


def _choose(mask: Array, yes: Array | int, no: Array | int) -> Array:
    """Take ``yes`` under the mask and ``no`` elsewhere."""
    return ((no ^ yes) & mask) ^ no


def _signs(bits: Array, rule: Rule, target: Target) -> Array:
    """Move the sign bits to where the result has them."""
    if target == "values":
        return bits & _wrap(rule.work.sign_mask, rule.work)
    shift = rule.work.bits - rule.fmt.bits
    return (bits >> shift) & _wrap(rule.fmt.sign_mask, rule.work)


def _wrap(pattern: int, work: FloatFormat) -> int:
    """Return the signed integer with these bits, as a library of signed integers wants it."""
    return pattern - (1 << work.bits) if pattern & work.sign_mask else pattern


def decode_patterns(codes: Array, rule: Rule, ops: ArrayOps) -> Array:
    """Return the working patterns of codes given as signed integers of the work's width.

    A code is a piece of a working pattern already: it lacks the lower bits of the significand
    and counts its exponents from another bias.
    """
    fmt, work = rule.fmt, rule.work
    dropped = work.significand_bits - fmt.significand_bits
    magnitude = codes & ((1 << (fmt.exponent_bits + fmt.significand_bits)) - 1)
    pattern = (magnitude << dropped) + ((work.bias - fmt.bias) << work.significand_bits)
    if rule.shares_exponents:
        if not fmt.has_subnormals:
            pattern = ops.at_least(pattern, 1 << (dropped - 1))  # E8M0's 2^-127
    elif fmt.has_subnormals:
        subnormal = ops.as_floats(magnitude, work.bits) * float(fmt.smallest)
        is_normal = _above(magnitude, (1 << fmt.significand_bits) - 1, rule)
        pattern = _choose(is_normal, pattern, ops.float_bits(subnormal, work.bits))
    if fmt.has_infinity:
        not_finite = _above(magnitude, fmt.largest_code, rule)
        pattern = _choose(not_finite, work.largest_code + 1, pattern)
    if fmt.has_nan:
        is_nan = _above(magnitude, fmt.infinity_code or fmt.largest_code, rule)
        pattern = _choose(is_nan, encode("nan", work), pattern)
    if not fmt.signed:
        return pattern
    sign = (codes << (work.bits - fmt.bits)) & _wrap(work.sign_mask, work)
    return pattern | sign
