"""What a rounding has to do, worked out once and kept as constants for the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from ampcourse.decode import decode
from ampcourse.encode import Overflow, check_overflow, encode, goes_outward, overflow_code
from ampcourse.formats import FP32, FP64, FloatFormat, get_format
from ampcourse.rounding import check_mode, check_randomness

#: Codes, or the values as bit patterns of the working format.
Target = Literal["codes", "values"]

#: What rounding does not settle: a finite number too large, an infinity, a NaN, and a number
#: that a format without sign or zero lacks. "largest" is the limit for all of them.
Case = Literal["overflow", "infinity", "nan", "invalid", "largest"]


@dataclass(frozen=True)
class Rule:
    """A format and how to round to it, for numbers that come as FP32 or FP64 patterns.

    ``work`` is the format in whose bit patterns the kernel calculates: FP32 if the input is
    no wider and FP32 holds all that is needed, else FP64. Widening to it is exact, so nothing
    is rounded twice.
    """

    fmt: FloatFormat
    work: FloatFormat
    mode: str
    overflow: Overflow
    subnormals: bool
    #: Random bits per number; 0 unless the mode is "stochastic".
    random_bits: int

    @cached_property
    def shares_exponents(self) -> bool:
        """Whether a code is the top of a working pattern, as BF16's are of FP32's."""
        return _shares_exponents(self.fmt, self.work)

    @cached_property
    def whole_steps(self) -> bool:
        """Whether the processor's own rounding to whole numbers, nearest even, is all it takes.

        (Without a significand field the quotient must be scaled, because the inverse of the
        working format's largest power of two is none of its normal numbers.)
        """
        nearest_even = self.mode == "nearest_even" and self.fmt.significand_bits > 0
        return nearest_even and not self.shares_exponents

    @cached_property
    def guard_bits(self) -> int:
        """How many bits below its last one the kernel keeps of a number before it rounds.

        Where the exponents are shared, these are the bits of the pattern that the format
        lacks. Elsewhere all bits of a normal number are kept, but at least one, and below them
        one that says whether anything was lost; stochastic rounding cuts to its own width.
        """
        dropped = self.work.significand_bits - self.fmt.significand_bits
        if self.shares_exponents:
            return dropped
        if self.whole_steps:
            return 0
        return self.random_bits or max(dropped, 1) + 1

    @cached_property
    def scale_bits(self) -> int:
        """The power of two between the kernel's quotient and a number of whole quanta."""
        return self.guard_bits if self.random_bits else max(self.guard_bits - 1, 0)

    @cached_property
    def lowest_exponent(self) -> int:
        """The working pattern of the format's smallest normal number."""
        return power_pattern(self.fmt.emin, self.work)

    def largest(self, target: Target) -> int:
        """The format's largest number."""
        return self._remember(("largest", 0, target))

    def outcome(self, case: Case, sign: int, target: Target) -> int:
        """Return the magnitude for a case that rounding does not settle.

        Raises ValueError where the format has none.
        """
        return self._remember((case, sign, target))

    def _remember(self, key: tuple[Case, int, Target]) -> int:
        """Work a magnitude out once: a large array asks again for each of its pieces."""
        if key not in self._known:
            case, sign, target = key
            code = self._code(case, sign)
            in_codes = target == "codes"
            self._known[key] = code if in_codes else encode(decode(code, self.fmt).value, self.work)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[Case, int, Target], int]:
        return {}

    def _code(self, case: Case, sign: int) -> int:
        if case == "largest":
            return self.fmt.largest_code
        if case == "overflow":
            return overflow_code(self.fmt, self.overflow, goes_outward(self.mode, sign))
        if case == "infinity":
            return overflow_code(self.fmt, self.overflow, outward=True)
        if case == "invalid" and self.overflow == "saturate":
            return 0
        return encode("nan", self.fmt)


@lru_cache(maxsize=512)
def make_rule(
    fmt: str | FloatFormat,
    source: FloatFormat,
    mode: str,
    overflow: Overflow,
    subnormals: bool,
    random_bits: int | None,
    has_generator: bool,
) -> Rule:
    """Check the arguments that quantize and encode_array share and choose the working format.

    ``source`` is the format of the input. Raises as ``ampcourse.encode.encode`` does, and
    ValueError for a format that FP64 patterns cannot serve.
    """
    fmt = get_format(fmt)
    check_mode(mode)
    bits = check_randomness(mode, random_bits, has_generator or None)
    check_overflow(overflow)
    for work in (FP32, FP64):
        if source in (FP32, work) and _fits(fmt, work, bits):
            return Rule(fmt, work, mode, overflow, bool(subnormals), bits)
    if bits and _fits(fmt, FP64, 0):
        raise ValueError(
            f"random_bits = {bits} is too many for {fmt.name}'s {fmt.significand_bits} "
            f"significand bits; at most {_most_random_bits(fmt, FP64)} can be drawn here"
        )
    raise ValueError(
        f"{fmt.name} (bias {fmt.bias}) reaches beyond what FP64 arithmetic rounds exactly; use "
        "ampcourse.encode.encode, number by number"
    )


def _shares_exponents(fmt: FloatFormat, work: FloatFormat) -> bool:
    """Whether a working pattern, cut off behind the significand, is a code of the format.

    The biased exponents must mean the same, biased exponent 0 included; E8M0 is the exception
    that the kernel knows.
    """
    same_exponents = fmt.bias == work.bias and fmt.emax <= work.emax
    return same_exponents and fmt.has_subnormals == (fmt.significand_bits > 0)


def _fits(fmt: FloatFormat, work: FloatFormat, random_bits: int) -> bool:
    """Whether the kernel is exact for a format in this working format."""
    dropped = work.significand_bits - fmt.significand_bits
    if dropped < 0:
        return False
    if _shares_exponents(fmt, work):
        return True
    if random_bits > _most_random_bits(fmt, work):
        return False
    # A number is divided by its quantum and multiplied by it again. Neither may leave the
    # normal numbers of the working format, nor may the power of two just beyond the largest.
    scale = random_bits or max(dropped, 1)
    smallest_quantum = fmt.emin - fmt.significand_bits
    return (
        smallest_quantum >= work.emin
        and scale - smallest_quantum <= work.emax
        and fmt.emin <= 0
        and fmt.emax < work.emax
    )


def _most_random_bits(fmt: FloatFormat, work: FloatFormat) -> int:
    """How many random bits leave room for carry and sign in an integer of the work's width."""
    return work.bits - 3 - fmt.significand_bits


def power_pattern(exponent: int, work: FloatFormat) -> int:
    """Return the working pattern of a power of two, one of the normal numbers."""
    return (exponent + work.bias) << work.significand_bits
