"""The rule of `reference.fuse` for many sums at once, in float64 and integer arrays.

Everything is exact in float64: a product has at most 22 significant bits, a term divided by
the quantum 2^(emax - F) is below 2^(F + 2), and 33 truncated ones add up to an integer below
2^53. Multiplying by a power of two changes only the exponent, and no exponent leaves the range
of float64. What costs time is the number of passes over the sums, so all arrays are made once,
are written in place, and should fit the cache; cases that few sums have (subnormal results,
overflow, nothing but zeros) are looked for by the extremes of emax and done apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ampcourse.formats import FloatFormat
from ampcourse.tensor_core.configurations import EMULATED_CHUNK, Configuration

Floats = NDArray[np.float64]

#: Stands for the exponent of zero until the rule of zero is applied: below every other sum.
_NO_EXPONENT = -8192
#: The same in a byte: beside the largest operand still below every product but zero.
SMALL_NO_EXPONENT = -60
_FRACTION_BITS = 52
_EXPONENT_FIELD = 0x7FF << _FRACTION_BITS
_BIAS = 1023


@dataclass(frozen=True)
class Side:
    """The A or the B of many dot products: k along the first axis, then axes that broadcast."""

    values: NDArray[np.floating]
    exponents: NDArray[np.int16]
    #: The same in a byte, for narrow sides; others do not use it.
    small_exponents: NDArray[np.int8]

    @property
    def narrow(self) -> bool:
        """Whether all operands are finite and have exponents of at most 5 bits."""
        return self.values.dtype == np.float32

    def __getitem__(self, k: slice | list[int] | tuple[slice, ...]) -> Side:
        return Side(self.values[k], self.exponents[k], self.small_exponents[k])


def side(values: Floats, rule: Configuration) -> Side:
    """Find each operand's exponent: emin for subnormals; for zero a mark, not an exponent."""
    fmt = rule.operands
    exponents = (values.view(np.int64) >> _FRACTION_BITS & 0x7FF) - _BIAS
    exponents = np.clip(exponents, fmt.emin, fmt.emax).astype(np.int16)
    exponents[values == 0] = _NO_EXPONENT
    small = np.maximum(exponents, SMALL_NO_EXPONENT).astype(np.int8)
    narrow = fmt.exponent_bits <= 5 and bool(np.isfinite(values).all())
    return Side(values.astype(np.float32) if narrow else values, exponents, small)


class Sums:
    """Many sums that blocks are added to; ``values`` starts as C and ends as the result.

    The arrays for intermediate results are made once for a shape and can be used again.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.values = np.zeros(shape)
        self._bits = self.values.view(np.int64)
        self._term = np.empty(shape)
        self._scale = np.empty(shape)
        self._scale_bits = self._scale.view(np.int64)
        self._emax = np.empty(shape, np.int16)
        self._exponent = np.empty(shape, np.int16)

    def add_chain(self, a: Side, b: Side, rule: Configuration) -> None:
        """Add all products to the sums, block after block; K must be a multiple of the chunk."""
        for start in range(0, len(a.values), rule.chunk):
            part = slice(start, start + rule.chunk)
            if rule.emulated:
                self._add_emulated(a[part], b[part], rule)
            else:
                self._add_block(a[part], b[part], rule)

    def _add_emulated(self, a: Side, b: Side, rule: Configuration) -> None:
        """Do 32 FP8 products in two FP16 blocks and an addition; see reference._emulated_fp8."""
        half = replace(rule, input_format=rule.operands.name, emulated=False)
        c = self.values.copy()
        self.values[...] = 0
        for parity in (0, 1):
            order = [k for k in range(EMULATED_CHUNK) if k // 2 % 2 == parity]
            self._add_block(a[order], b[order], half)
        self.values += c
        if rule.output_format == "fp16":
            self._round_nearest_even(rule, rule.output.emax)
        else:
            # Rounded to 53 bits, then to 24: right, as 53 >= 2 x 24 + 2 (Figueroa, SIGNUM 1995).
            self.values[...] = self.values.astype(np.float32)

    def _add_block(self, a: Side, b: Side, rule: Configuration) -> None:
        self._find_emax(a, b, rule)
        lowest, highest = int(self._emax.min()), int(self._emax.max())
        # 1 / quantum = 2^(F - emax), put together from its exponent field.
        np.subtract(rule.fraction_bits + _BIAS, self._emax, out=self._exponent)
        np.copyto(self._scale_bits, self._exponent)
        np.left_shift(self._scale_bits, _FRACTION_BITS, out=self._scale_bits)
        self.values *= self._scale
        np.trunc(self.values, out=self.values)
        self._add_products(a, b)
        np.subtract(2 * _BIAS << _FRACTION_BITS, self._scale_bits, out=self._scale_bits)
        self.values *= self._scale
        if rule.output_rounding == "toward_zero":
            self._round_toward_zero(rule, lowest - rule.fraction_bits, highest)
        else:
            self._round_nearest_even(rule, highest)

    def _add_products(self, a: Side, b: Side) -> None:
        for x, y in zip(a.values, b.values, strict=True):
            np.multiply(x, y, out=self._term)
            self._term *= self._scale
            np.trunc(self._term, out=self._term)
            self.values += self._term

    def _find_emax(self, a: Side, b: Side, rule: Configuration) -> None:
        """Set emax to the largest exponent among the products and C."""
        np.right_shift(self._bits, _FRACTION_BITS, out=self._scale_bits)
        np.copyto(self._emax, self._scale_bits, casting="unsafe")
        self._emax &= 0x7FF
        self._emax -= _BIAS
        for x, y in zip(a.exponents, b.exponents, strict=True):
            np.add(x, y, out=self._exponent)
            np.maximum(self._emax, self._exponent, out=self._emax)
        if self._emax.min() < rule.output.emin:
            self._lift_emax(rule)

    def _lift_emax(self, rule: Configuration) -> None:
        """Give a subnormal C the exponent emin and a zero C that of zero, where C is largest.

        Zero products need no care: beside a C of zero they add nothing, and beside another C
        their exponent is too small to matter.
        """
        lowest = np.where(self.values == 0, rule.zero_exponent, rule.output.emin)
        np.maximum(self._emax, lowest, out=self._emax, casting="unsafe")

    def _round_toward_zero(self, rule: Configuration, quantum: int, emax: int) -> None:
        """Cut the significands, whose sign stands apart, to the output's fraction bits.

        All sums are multiples of 2^quantum and below 2^(emax + 8).
        """
        fmt, kept = rule.output, rule.output_fraction_bits
        if quantum < fmt.emin - kept:
            unit = 2.0 ** (fmt.emin - kept)
            subnormal = np.abs(self.values) < 2.0**fmt.emin
            self.values[subnormal] = np.trunc(self.values[subnormal] / unit) * unit
        self._bits &= -1 << (_FRACTION_BITS - kept)
        self._overflow(fmt, emax)

    def _round_nearest_even(self, rule: Configuration, emax: int) -> None:
        """Add and take away 1.5 x 2^52 units in the last place, which leaves whole units."""
        fmt = rule.output
        np.bitwise_and(self._bits, _EXPONENT_FIELD, out=self._scale_bits)
        np.clip(self._scale, 2.0**fmt.emin, 2.0**fmt.emax, out=self._scale)
        self._scale *= 1.5 * 2.0 ** (_FRACTION_BITS - fmt.significand_bits)
        self.values += self._scale
        self.values -= self._scale
        self._overflow(fmt, emax)

    def _overflow(self, fmt: FloatFormat, emax: int) -> None:
        """Turn what is past the largest number into infinity; sums are below 2^(emax + 8)."""
        if emax + 8 > fmt.emax:
            past = np.abs(self.values) > float(fmt.max)
            self.values[past] = np.copysign(np.inf, self.values[past])
