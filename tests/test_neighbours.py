"""Neighbours of a code, against math.nextafter, numpy and the order of the values."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest

from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import FORMATS, FP16, FP64
from ampcourse.neighbours import gaps, neighbours

SMALL = ["fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"]


@pytest.mark.parametrize("name", ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0"])
def test_neighbours_are_the_next_values_in_order_for_every_code(name: str) -> None:
    fmt = FORMATS[name]
    decoded = [decode(code, fmt) for code in range(1 << fmt.bits)]
    order = sorted({found.value for found in decoded if found.kind != "nan"})
    for found in decoded:
        below, above = neighbours(found.code, fmt)
        if found.kind == "nan":
            assert (below, above) == (None, None)
            continue
        place = order.index(found.value)
        assert (below is None) == (place == 0)
        assert (above is None) == (place == len(order) - 1)
        if below is not None:
            assert decode(below, fmt).value == order[place - 1]
        if above is not None:
            assert decode(above, fmt).value == order[place + 1]


@pytest.mark.parametrize("name", ["fp16", "bf16", "e5m2"])
def test_neighbours_are_those_of_numpys_nextafter(name: str) -> None:
    numpy = pytest.importorskip("numpy")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    fmt = FORMATS[name]
    dtype = getattr(ml_dtypes, fmt.library_name, None) or numpy.dtype(fmt.library_name)
    unsigned = numpy.uint16 if fmt.bits > 8 else numpy.uint8
    codes = numpy.array(Random(1).sample(range(1 << fmt.bits), 256), dtype=unsigned)
    values = codes.view(dtype)
    with numpy.errstate(invalid="ignore"):  # the signalling NaN codes
        after = numpy.nextafter(values, numpy.array(math.inf, dtype)).view(unsigned).tolist()
        before = numpy.nextafter(values, numpy.array(-math.inf, dtype)).view(unsigned).tolist()
    for code, low, high in zip(codes.tolist(), before, after, strict=True):
        found = decode(code, fmt)
        if found.kind in ("zero", "infinity", "nan"):
            continue
        assert neighbours(code, fmt) == (low, high), hex(code)


def test_fp64_neighbours_are_those_of_math_nextafter() -> None:
    random = Random(2)
    for _ in range(1000):
        x = math.ldexp(random.uniform(-1, 1), random.randint(-1074, 1023))
        if x:
            below, above = neighbours(encode(x, FP64), FP64)
            assert below is not None
            assert above is not None
            assert decode(below, FP64).value.hex() == math.nextafter(x, -math.inf).hex()
            assert decode(above, FP64).value.hex() == math.nextafter(x, math.inf).hex()


def test_both_zeros_lie_between_the_smallest_subnormals() -> None:
    assert neighbours(0x0000, FP16) == neighbours(0x8000, FP16) == (0x8001, 0x0001)
    assert neighbours(0x0001, FP16).below == 0x0000
    assert neighbours(0x8001, FP16).above == 0x8000


def test_the_ends_have_one_neighbour() -> None:
    assert neighbours(0x7BFF, FP16) == (0x7BFE, 0x7C00)
    assert neighbours(0x7C00, FP16) == (0x7BFF, None)
    assert neighbours(0xFC00, FP16) == (None, 0xFBFF)
    assert neighbours(0x7E, "e4m3") == (0x7D, None)
    assert neighbours(0xFE, "e4m3") == (None, 0xFD)
    assert neighbours(0x00, "e8m0") == (None, 0x01)
    assert neighbours(0xFE, "e8m0") == (0xFD, None)


def test_the_gap_halves_below_a_power_of_two() -> None:
    assert gaps(0x3C00, FP16) == (Fraction(1, 2048), Fraction(1, 1024))
    assert gaps(0xBC00, FP16) == (Fraction(1, 1024), Fraction(1, 2048))
    assert gaps(0x6800, FP16) == (1, 2)


def test_the_gap_around_zero_is_the_smallest_number_on_both_sides() -> None:
    assert gaps(0, FP16) == gaps(0x8000, FP16) == (Fraction(1, 2**24), Fraction(1, 2**24))
    assert gaps(1, FP16) == (Fraction(1, 2**24), Fraction(1, 2**24))


def test_there_is_no_gap_to_infinity_or_from_nan() -> None:
    assert gaps(0x7BFF, FP16) == (32, None)
    assert gaps(0x7C00, FP16) == (None, None)
    assert gaps(0x7E00, FP16) == (None, None)


@pytest.mark.parametrize("name", SMALL)
def test_gaps_are_the_differences_of_the_decoded_values(name: str) -> None:
    fmt = FORMATS[name]
    for code in Random(3).sample(range(1 << fmt.bits), min(300, 1 << fmt.bits)):
        found = decode(code, fmt)
        for gap, other in zip(gaps(code, fmt), neighbours(code, fmt), strict=True):
            there = None if other is None else decode(other, fmt).fraction
            if there is None or found.fraction is None:
                assert gap is None
            else:
                assert gap == abs(there - found.fraction)


def test_a_code_outside_the_format_is_refused() -> None:
    with pytest.raises(ValueError, match="out of range; e2m1 has codes 0 to 0xf"):
        neighbours(16, "e2m1")
    with pytest.raises(TypeError, match="a code is an int"):
        gaps("1", "e2m1")  # type: ignore[arg-type]
