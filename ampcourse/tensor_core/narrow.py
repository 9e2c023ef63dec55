"""The sums of `kernel` in float32 and int32, for operands with exponents of at most 5 bits.

A product of two such operands has at most 22 significant bits and lies between 2^-48 and 2^32,
so it is exact in float32, a truncated term is an int32, and passes over half the memory take
half the time. Blocks in which that does not hold are left to float64: where C is far out of the
products' range, infinite or NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ampcourse.tensor_core.configurations import Configuration
from ampcourse.tensor_core.kernel import SMALL_NO_EXPONENT, Side, Sums

_FRACTION_BITS, _BIAS = 23, 127
#: Largest exponents of sums that are done here: products of normal numbers and of subnormals
#: lie between, and float32 holds the scale 2^(F - emax), its inverse and all multiples needed.
_LOWEST, _HIGHEST = -30, 90
#: So many terms below 2^(F + 2), and C, have a sum that int32 holds.
_TERMS = 8


class NarrowSums(Sums):
    """Many sums whose operands are all finite and narrow."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        self._c = np.empty(shape, np.float32)
        self._c_bits = self._c.view(np.int32)
        self._product = np.empty(shape, np.float32)
        self._power = np.empty(shape, np.float32)
        self._power_bits = self._power.view(np.int32)
        self._whole = np.empty(shape, np.int32)
        self._whole_sum = np.empty(shape, np.int32)
        self._small_emax = np.empty(shape, np.int8)
        self._small = np.empty(shape, np.int8)

    def _add_block(self, a: Side, b: Side, rule: Configuration) -> None:
        np.copyto(self._c, self.values, casting="unsafe")
        self._find_small_emax(a, b)
        lowest, highest = int(self._small_emax.min()) + 1, int(self._small_emax.max()) + 1
        single = rule.output_format == "fp32"
        floor = _LOWEST if single else rule.output.emin
        if highest > _HIGHEST or (lowest < floor and not (single and self._lift_zeros())):
            super()._add_block(a, b, rule)
            return
        self._set_power(rule.fraction_bits)
        self._sum_terms(a, b)
        np.subtract(2 * _BIAS << _FRACTION_BITS, self._power_bits, out=self._power_bits)
        if single:
            self._bits &= -1 << (52 - rule.output_fraction_bits)
            np.copyto(self._c, self.values, casting="unsafe")
            self._c *= self._power
            np.copyto(self.values, self._c)
        else:
            self.values *= self._power
            self._round_nearest_even(rule, highest)

    def _find_small_emax(self, a: Side, b: Side) -> None:
        """Set emax - 1, which int8 holds for every C: infinity and NaN get the largest."""
        self._small_emax[...] = 2 * SMALL_NO_EXPONENT
        for x, y in zip(a.small_exponents, b.small_exponents, strict=True):
            np.add(x, y, out=self._small)
            np.maximum(self._small_emax, self._small, out=self._small_emax)
        self._small_emax -= 1
        np.right_shift(self._c_bits, _FRACTION_BITS, out=self._whole)
        np.copyto(self._small, self._whole, casting="unsafe")  # without the sign
        self._small ^= -128  # the biased exponent less 128
        np.maximum(self._small_emax, self._small, out=self._small_emax)

    def _lift_zeros(self) -> bool:
        """Give sums of nothing but zeros an exponent, as any will do; False if others are low."""
        if bool((self._c[self._small_emax < _LOWEST - 1] != 0).any()):
            return False
        np.maximum(self._small_emax, _LOWEST - 1, out=self._small_emax)
        return True

    def _set_power(self, fraction_bits: int) -> None:
        """Put 1 / quantum = 2^(F - emax) together from its exponent field, modulo 256."""
        field: NDArray[np.uint8] = self._small.view(np.uint8)
        start = np.uint8(fraction_bits + _BIAS - 1)
        np.subtract(start, self._small_emax.view(np.uint8), out=field)
        np.copyto(self._power_bits, field)
        np.left_shift(self._power_bits, _FRACTION_BITS, out=self._power_bits)

    def _sum_terms(self, a: Side, b: Side) -> None:
        """Set the values to C and the products in whole quanta, each cut off towards zero."""
        self._c *= self._power
        np.copyto(self._whole_sum, self._c, casting="unsafe")
        for start in range(0, len(a.values), _TERMS):
            if start:
                self._whole_sum[...] = 0
            part = slice(start, start + _TERMS)
            for x, y in zip(a.values[part], b.values[part], strict=True):
                if x.ndim == 2:  # a column and a row of gemm: one product each, nothing is added
                    np.dot(x, y, out=self._product)
                else:
                    np.multiply(x, y, out=self._product)
                self._product *= self._power
                np.copyto(self._whole, self._product, casting="unsafe")
                self._whole_sum += self._whole
            if start:
                self.values += self._whole_sum
            else:
                np.copyto(self.values, self._whole_sum)
