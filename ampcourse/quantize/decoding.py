"""From arrays of codes to the bit patterns of their values, the vector twin of decode."""

from __future__ import annotations

from ampcourse.encode import encode
from ampcourse.quantize.array_ops import Array, ArrayOps
from ampcourse.quantize.patterns import above, choose, wrap
from ampcourse.quantize.rule import Rule


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
        is_normal = above(magnitude, (1 << fmt.significand_bits) - 1, work)
        pattern = choose(is_normal, pattern, ops.float_bits(subnormal, work.bits))
    if fmt.has_infinity:
        not_finite = above(magnitude, fmt.largest_code, work)
        pattern = choose(not_finite, work.largest_code + 1, pattern)
    if fmt.has_nan:
        is_nan = above(magnitude, fmt.infinity_code or fmt.largest_code, work)
        pattern = choose(is_nan, encode("nan", work), pattern)
    if not fmt.signed:
        return pattern
    sign = (codes << (work.bits - fmt.bits)) & wrap(work.sign_mask, work)
    return pattern | sign
