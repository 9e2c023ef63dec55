"""Where classes begin, against the scalar reference of rounding."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ampcourse.decode import decode
from ampcourse.dynamic_range import boundaries
from ampcourse.encode import encode
from ampcourse.formats import E8M0, FORMATS, FP16, FP32, FP64, FloatFormat
from ampcourse.rounding import MODES, round_to_precision

ROUND_ALIKE = [fmt for fmt in FORMATS.values() if fmt.has_zero]
DETERMINISTIC = [mode for mode in MODES if mode != "stochastic"]


def class_of(x: Fraction, fmt: FloatFormat, mode: str) -> str:
    """Return the class of a number's rounded result, from the rounded number itself."""
    result = abs(round_to_precision(x, fmt.precision, mode, fmt.emin))
    if result > fmt.max:
        return "overflow"
    if result == 0:
        return "zero"
    return "normal" if result >= fmt.smallest_normal else "subnormal"


@pytest.mark.parametrize("mode", DETERMINISTIC)
@pytest.mark.parametrize("fmt", ROUND_ALIKE, ids=lambda fmt: fmt.name)
def test_classes_begin_where_rounded_results_change(fmt: FloatFormat, mode: str) -> None:
    for sign in (1, -1):
        cuts = boundaries(fmt, mode, negative=sign < 0)
        for cut, below, above in (
            (cuts.nonzero, "zero", "subnormal"),
            (cuts.normal, "subnormal", "normal"),
            (cuts.overflow, "normal", "overflow"),
        ):
            step = cut.value / 2**200 or Fraction(1, 2**2000)
            if cut.value:
                at = class_of(sign * cut.value, fmt, mode)
                assert at == (above if cut.included else below)
                assert class_of(sign * (cut.value - step), fmt, mode) == below
            assert class_of(sign * (cut.value + step), fmt, mode) == above


def test_the_first_number_of_a_class_is_the_next_one_in_the_inputs_own_format() -> None:
    cuts = boundaries("fp16")
    assert cuts.nonzero.first_in(FP32) == decode(encode(2**-25, FP32) + 1, FP32).value
    assert cuts.nonzero.first_in(FP64) == decode(encode(2**-25, FP64) + 1, FP64).value
    assert cuts.overflow.first_in(FP32) == 65520.0
    assert cuts.normal.first_in(FP32) == 2.0**-14 - 2.0**-25
    assert boundaries("fp64").overflow.first_in(FP32) == float("inf")


def test_a_scaled_boundary_is_met_by_the_first_number_at_or_above_it() -> None:
    for divisor in (7, 11, 13, 17, 1000, 1001):
        cut = boundaries("fp16").overflow.scaled(Fraction(divisor))
        assert cut.value == Fraction(65520, divisor)
        first = cut.first_in(FP32)
        before = decode(encode(first, FP32) - 1, FP32).value
        assert Fraction(before) < cut.value <= Fraction(first)


def test_a_format_without_zero_and_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="e8m0 has no zero"):
        boundaries(E8M0)
    with pytest.raises(ValueError, match="did you mean 'nearest_even'"):
        boundaries(FP16, "nearest_eve")
