"""One block over fractions, against hand-made blocks, brute force and gfloat."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest

from ampcourse.blocks import SCHEMES, quantize_block, scale_exponent
from ampcourse.blocks.reference import tensor_scale_of
from ampcourse.decode import decode
from ampcourse.formats import E2M1, E4M3, FORMATS, FloatFormat

MX = ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4"]


def nearest_by_search(x: Fraction, fmt: FloatFormat) -> int:
    """Return the code of the closest finite number, of the even one of two, without sign."""
    codes = range(fmt.largest_code + 1)
    values = [decode(code, fmt).fraction or Fraction(0) for code in codes]
    return min(codes, key=lambda code: (abs(values[code] - abs(x)), code % 2))


def test_mxfp4_block_by_hand() -> None:
    # amax 10 = 1.25 x 2^3, so the scale is 2^(3 - 2) = 2. 10 / 2 = 5 is half-way between
    # 4 = 1.0b x 4 and 6 = 1.1b x 4: the tie goes to 4, whose last bit is even. 0.5 / 2 is one too.
    block = quantize_block([10.0, -1.0, 0.4, 0.5, 1.5, -6.9, 0.0, -0.0], "mxfp4")
    assert block.scale_code == 128
    assert block.scale == 2.0
    assert block.codes == (0x6, 0x9, 0x0, 0x0, 0x2, 0xD, 0x0, 0x8)
    assert block.elements == (4.0, -0.5, 0.0, 0.0, 1.0, -3.0, 0.0, -0.0)
    assert block.dequantize() == [8, -1, 0, 0, 2, -6, 0, 0]


def test_a_floor_scale_lets_the_largest_numbers_be_clamped() -> None:
    block = quantize_block([7.9, 1.0], "mxfp4")
    assert (block.scale, block.elements) == (1.0, (6.0, 1.0))
    assert quantize_block([7.9, 1.0], "mxfp4", scale_rule="fit").elements == (4.0, 0.5)


@pytest.mark.parametrize("name", MX)
def test_fit_is_the_smallest_scale_that_clamps_nothing(name: str) -> None:
    element = SCHEMES[name].element
    random = Random(1)
    numbers = [Fraction(random.getrandbits(53), 1 << random.randrange(90)) for _ in range(100)]
    for amax in [n for n in numbers if n] + [element.max, element.max * 2, element.max + 1]:
        exponent = scale_exponent(amax, element, "fit")
        assert amax <= element.max * Fraction(2) ** exponent
        assert amax > element.max * Fraction(2) ** (exponent - 1)


@pytest.mark.parametrize("name", MX)
def test_floor_brings_the_largest_number_into_the_top_binade_of_the_element(name: str) -> None:
    element = SCHEMES[name].element
    for amax in (Fraction(1), Fraction(2) - Fraction(1, 2**60), Fraction(3, 2**80), Fraction(7)):
        scaled = amax / Fraction(2) ** scale_exponent(amax, element, "floor")
        assert Fraction(2) ** element.emax <= scaled < Fraction(2) ** (element.emax + 1)


def test_even_goes_up_from_the_last_midpoint_on() -> None:
    below = Fraction(7) - Fraction(1, 2**40)
    assert scale_exponent(Fraction(7), E2M1, "even") == 1
    assert scale_exponent(below, E2M1, "even") == 0
    assert scale_exponent(Fraction(31, 16) * 256, E4M3, "even") == 1
    assert scale_exponent(Fraction(30, 16) * 256, E4M3, "even") == 0


def test_ceil_goes_up_from_anything_above_a_power_of_two() -> None:
    assert scale_exponent(Fraction(4), E2M1, "ceil") == 0
    assert scale_exponent(4 + Fraction(1, 2**80), E2M1, "ceil") == 1


@pytest.mark.parametrize("name", list(SCHEMES))
def test_elements_are_the_nearest_ones_by_search(name: str) -> None:
    scheme = SCHEMES[name]
    random = Random(name)
    numbers = [random.gauss(0, 1) * 2.0 ** random.randint(-6, 6) for _ in range(8)]
    shared = tensor_scale_of(Fraction(max(map(abs, numbers))) * 3, scheme)
    block = quantize_block(numbers, scheme, tensor_scale=shared)
    for number, code in zip(numbers, block.codes, strict=True):
        exact = Fraction(number) / (Fraction(block.scale) * shared)
        magnitude = nearest_by_search(exact, scheme.element)
        assert code == magnitude | (scheme.element.sign_mask if number < 0 else 0)


@pytest.mark.parametrize("name", MX)
def test_blocks_are_those_of_gfloat(name: str) -> None:
    numpy = pytest.importorskip("numpy")
    gfloat = pytest.importorskip("gfloat.block")
    formats = pytest.importorskip("gfloat.formats")
    info = next(f for f in formats.all_block_formats if f.name.removesuffix("_e2m1") == name)
    generator = numpy.random.default_rng(2)
    for spread in (0.0, 1.0, 8.0, 30.0):
        numbers = generator.standard_normal(32) * 2 ** generator.uniform(-spread, spread, 32)
        theirs = gfloat.quantize_block(info, numbers, gfloat.compute_scale_amax)
        ours = [float(value) for value in quantize_block(numbers.tolist(), name).dequantize()]
        assert ours == theirs.tolist()


def test_a_block_of_zeros_has_the_scale_that_was_chosen_for_it() -> None:
    codes = {z: quantize_block([0, -0.0], "mxfp4", zero_scale=z) for z in ("smallest", "one")}
    assert codes["smallest"].scale_code == 0
    assert codes["one"].scale_code == 127
    assert codes["one"].codes == codes["smallest"].codes == (0x0, 0x8)
    nvfp4 = {
        z: quantize_block([0.0], "nvfp4", zero_scale=z).scale for z in ("smallest", "one", "zero")
    }
    assert nvfp4 == {"smallest": 2**-9, "one": 1.0, "zero": 0.0}
    assert quantize_block([0.0], "per_tensor").scale == 1.0


def test_an_nvfp4_block_far_below_the_tensors_largest_loses_its_scale() -> None:
    tiny = 6 * 2.0**-11
    assert quantize_block([tiny], "nvfp4").dequantize() == [0]
    kept = quantize_block([tiny], "nvfp4", zero_scale="smallest")
    assert (kept.scale, kept.elements) == (2**-9, (1.5,))


def test_a_number_that_is_not_finite_gives_up_its_block_or_only_itself() -> None:
    for bad in (math.inf, -math.inf, math.nan):
        block = quantize_block([1.0, bad], "mxfp8_e4m3")
        assert block.scale_code == 0xFF
        assert all(math.isnan(value) for value in block.dequantize())
        with pytest.raises(ValueError, match="is not finite"):
            quantize_block([1.0, bad], "mxfp8_e4m3", nonfinite="error")
    one = quantize_block([1.0, -math.inf, math.nan], "mxfp8_e4m3", nonfinite="element")
    assert (one.scale, one.codes) == (2.0**-8, (0x78, 0xFE, 0x7F))
    assert quantize_block([1.0, -math.inf], "mxfp4", nonfinite="element").elements == (4.0, -6.0)
    with pytest.raises(ValueError, match="no code for NaN"):
        quantize_block([1.0, math.nan], "mxfp4", nonfinite="element")


def test_scales_that_e8m0_lacks_are_replaced_by_its_ends() -> None:
    assert quantize_block([Fraction(2) ** 200], "mxfp4").scale == 2.0**127
    assert quantize_block([Fraction(2) ** 200], "mxfp4").elements == (6.0,)
    assert quantize_block([Fraction(1, 2**127)], "mxfp4").scale == 2.0**-127
    assert quantize_block([Fraction(1, 2**127)], "mxfp4").elements == (1.0,)


def test_a_scale_rounded_up_never_clamps() -> None:
    random = Random(5)
    for _ in range(200):
        amax = Fraction(random.random()) * 400
        for name in ("nvfp4", "per_tensor_e4m3"):
            block = quantize_block([amax], name, scale_rule="up")
            assert Fraction(block.scale) * SCHEMES[name].element.max >= amax


def test_the_tensor_scale_takes_the_largest_value_to_the_largest_scale() -> None:
    scheme = SCHEMES["nvfp4"]
    amax = Fraction(2688) * Fraction(2) ** -30
    shared = tensor_scale_of(amax, scheme)
    assert shared == Fraction(2) ** -30
    block = quantize_block([amax], "nvfp4", tensor_scale=shared)
    assert (block.scale, block.elements) == (448.0, (6.0,))
    assert tensor_scale_of(Fraction(0), scheme) == 1
    assert tensor_scale_of(Fraction(1, 2**149), scheme) == 1
    assert tensor_scale_of(Fraction(5), SCHEMES["mxfp4"]) == 1


def test_every_rule_holds_for_every_format_that_can_be_an_element() -> None:
    for fmt in FORMATS.values():
        if fmt.has_zero:
            assert scale_exponent(fmt.max, fmt, "fit") == 0
            assert scale_exponent(fmt.max, fmt, "floor") == 0
