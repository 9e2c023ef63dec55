"""What the block FMA widget draws: bits are where they are worth what the terms are worth."""

import doctest
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ampcourse.tensor_core import dot_product
from ampcourse.tensor_core.configurations import GPU_NAMES
from ampcourse.widgets.block import grid as block_grid
from ampcourse.widgets.block import picture as block_picture
from ampcourse.widgets.block import values as block_values
from ampcourse.widgets.block import words
from ampcourse.widgets.block.chain import chain, every_gpu
from ampcourse.widgets.block.grid import SHOWN_BELOW, Grid, digits
from ampcourse.widgets.block.picture import BlockPicture
from ampcourse.widgets.block.state import PRESETS, BlockState
from ampcourse.widgets.block.values import ulps, value

WHICH = (("2^11", 0, 0, 0, "-2^11"), (1,) * 5, "3*2^-14")


def state(
    a: Any = WHICH[0],
    b: Any = WHICH[1],
    c: str | float = WHICH[2],
    gpu: str = "H100",
    formats: tuple[str, str] = ("fp16", "fp32"),
) -> BlockState:
    return BlockState.of(a, b, c, gpu, *formats)


def pictures(of: BlockState) -> list[BlockPicture]:
    taken = chain(of)
    return [BlockPicture(taken, number) for number in range(len(taken.blocks))]


def sentences(of: BlockState) -> list[str]:
    return pictures(of)[-1].sentences()


def worth(picture: BlockPicture, strip: dict[str, Any], stop: int) -> Fraction:
    """Add up the drawn digits before `stop` by the columns that they stand in."""
    grid = picture.grid()
    assert grid is not None
    places = (grid.top - strip["start"] - i for i in range(stop))
    digits = zip(strip["digits"][:stop], places, strict=True)
    return sum((Fraction(2) ** place for digit, place in digits if digit == "1"), Fraction(0))


def random_state(seed: int) -> BlockState:
    draw = random.Random(seed)
    sizes = [draw.choice([0, 5, 12]) for _ in range(17)]
    numbers = [draw.randrange(-2047, 2048) * 2.0**-size for size in sizes]
    gpu = draw.choice(["V100", "T4", "A100", "H100"])
    return state(numbers[:8], numbers[8:16], numbers[16], gpu)


@pytest.mark.parametrize("seed", range(30))
def test_drawn_bits_are_worth_the_term_and_kept_bits_what_is_kept(seed: int) -> None:
    for picture in pictures(random_state(seed)):
        quantum = Fraction(2) ** picture.quantum
        for row, data in zip(picture.drawn, picture.as_data()["terms"], strict=True):
            size, strip = abs(Fraction(row.number)), data["strip"]
            if not strip["hidden"]:
                assert worth(picture, strip, len(strip["digits"])) == size
            assert worth(picture, strip, strip["cut"]) == size // quantum * quantum
            assert row.lost == (size % quantum) * (-1 if row.number < 0 else 1)
            assert data["minus"] == (row.number < 0)


@pytest.mark.parametrize("seed", range(30))
def test_sum_and_results_stand_in_the_same_columns(seed: int) -> None:
    for picture in pictures(random_state(seed)):
        rows = zip(picture.results, picture.as_data()["results"], strict=True)
        for row, data in rows:
            if data["strip"] and not data["strip"]["hidden"]:
                drawn = worth(picture, data["strip"], len(data["strip"]["digits"]))
                assert drawn == abs(Fraction(row.number)), row.key


@pytest.mark.parametrize("seed", range(30))
def test_a_chain_gives_what_the_scalar_reference_gives(seed: int) -> None:
    of = random_state(seed)
    a, b = of.vectors(8)
    assert chain(of).result == dot_product(a, b, of.entry("c").value, of.gpu)


@pytest.mark.parametrize("seed", range(30))
def test_exactly_rounded_is_the_exact_sum_rounded_by_numpy(seed: int) -> None:
    of = random_state(seed)
    a, b = of.vectors(8)
    # Products of these have 22 bits and few places between them: fsum of them is exact.
    exact = math.fsum([x * y for x, y in zip(a, b, strict=True)] + [of.entry("c").value])
    assert Fraction(exact) == sum(
        (Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)),
        Fraction(of.entry("c").value),
    )
    assert chain(of).rounded == float(np.float32(exact))


def test_three_generations_are_told_apart_by_the_example() -> None:
    groups = every_gpu(state())
    assert [(names[0], result * 2**14) for names, result in groups] == [
        ("V100", 0.0),
        ("T4", 2.0),
        ("H100", 3.0),
    ]
    assert [name for names, _ in groups for name in names] == list(GPU_NAMES)


def test_only_gpus_with_the_formats_are_compared() -> None:
    groups = every_gpu(state(formats=("bf16", "fp32")))
    assert {name for names, _ in groups for name in names} == {
        *("A100", "A2", "Ada", "L40S", "H100", "H200", "B200")
    }


def test_v100_needs_a_second_block_for_term_4_and_starts_it_from_the_first_result() -> None:
    first, second = pictures(state(gpu="V100"))
    assert first.name == "Block 1 of 2: terms 0 to 3 and C"
    assert second.name == "Block 2 of 2: terms 4 to 7 and the result of block 1"
    assert [row.label for row in second.drawn] == ["a_{4}·b_{4}", "block 1"]
    assert second.drawn[1].number == 2048
    assert [row.label for row in first.results][1] == "to block 2"
    assert [row.label for row in second.results][1] == "V100 gives"


def test_an_intermediate_block_is_held_against_its_own_exact_sum() -> None:
    first, second = pictures(state(gpu="V100"))
    assert first.reference == 2048 + 2**-12  # 2048 + 3·2^-14, to nearest
    assert second.reference == 3 * 2**-14  # the whole sum
    assert "over all blocks" in second.verdict()
    assert "over all blocks" not in first.verdict()


def test_each_stage_is_told_with_its_numbers() -> None:
    told = sentences(state(gpu="A100"))
    assert "2 products are exact" in told[0]
    assert "emax = 11, that of a_{0}·b_{0}" in told[1]
    assert "2^{11 − 24} = 2^{-13}" in told[2]
    assert "1 of 3 terms, together 2^{-14}" in told[3]
    assert told[4].endswith("2^{-13}.")
    assert "toward zero, to fp32: 2^{-13}" in told[5]
    assert "it would be 3 × 2^{-14}: the result is 2^{22} ulp less" in told[5]


def test_nothing_lost_is_told_too() -> None:
    told = sentences(state())
    assert told[3] == "Nothing falls off: all 3 terms end at 2^{-14} or before."
    assert told[5].endswith("That is the exactly rounded value.")


def test_the_example_of_the_last_place_is_2_to_the_minus_23_on_v100_only() -> None:
    of = state().with_preset("last_place")
    assert [result for _, result in every_gpu(of)] == [2**-23, 2**-24]
    assert every_gpu(of)[0][0] == ["V100"]
    assert "it would be 2^{-24}" in sentences(of.with_gpu("V100"))[5]


def test_fp16_results_are_rounded_to_nearest_even() -> None:
    told = sentences(state((1,), (1,), "2^-11", formats=("fp16", "fp16")))
    assert "to nearest, ties to even, to fp16: 1." in told[5]


@pytest.mark.parametrize(
    ("c", "formats", "cut"),
    [
        # 1 + 2^-24 + 2^-25: fp32 keeps 24 of the sum's 26 digits, fp16 keeps 11 of them.
        ("1", ("fp16", "fp32"), 24),
        ("1", ("fp16", "fp16"), 11),
    ],
)
def test_the_digits_that_the_last_rounding_drops_are_told_apart(
    c: str, formats: tuple[str, str], cut: int
) -> None:
    data = pictures(state(("1.5*2^-12",), ("2^-12",), c, formats=formats))[0].as_data()
    total = data["results"][0]["strip"]
    assert (total["digits"], total["cut"]) == ("1" + "0" * 23 + "11", cut)


def test_a_subnormal_sum_keeps_the_places_of_the_output() -> None:
    data = pictures(state(("2^-14",), ("2^-11",), "2^-24", formats=("fp16", "fp16")))[0].as_data()
    total = data["results"][0]["strip"]
    assert total["digits"][: total["cut"]] == "1"  # 2^-24, fp16's last place; 2^-25 is rounded


def test_fp8_on_hopper_keeps_13_bits_of_32_products_and_of_the_result() -> None:
    of = state((1,) * 32, ("2^-6",) * 32, "2^-9", formats=("e4m3", "fp32"))
    picture = pictures(of)[0]
    assert len(pictures(of)) == 1
    assert len(picture.drawn) == 33
    assert picture.quantum == -6 - 13
    assert "fp32 with 13 fraction bits" in picture.sentences()[5]


def test_unnormalised_exponents_show_two_digits_before_the_point() -> None:
    row = pictures(state().with_preset("unnormalised"))[0].drawn[0]
    assert row.exponent == "0 + 0 = 0"
    assert row.digits is not None
    assert row.digits.significand == "10.01"


def test_a_subnormal_operand_keeps_emin_and_so_leading_zeros() -> None:
    row = pictures(state(("2^-24",), (4,), 0))[0].drawn[0]
    assert row.exponent == "-14 + 2 = -12"
    assert row.digits is not None
    assert row.digits.significand == "0.0000000001"


def test_the_unnormalised_example_keeps_c_on_the_gpu_that_shows_it() -> None:
    for gpu in ("V100", "A100", "H100"):
        of = state(gpu=gpu).with_preset("unnormalised")
        assert chain(of).result == chain(of).rounded == 2.0**-of.configuration.fraction_bits


def test_the_example_of_three_quarters_shows_truncation_on_every_gpu() -> None:
    of = state().with_preset("toward_zero")
    assert [result for _, result in every_gpu(of)] == [1.0]
    assert sentences(of)[5].endswith("the result is 1 ulp less.")


def test_crumbs_fall_off_one_by_one_though_together_they_count() -> None:
    of = state().with_preset("crumbs")
    assert chain(of).result == 1.0
    assert chain(of).rounded == 1 + 2**-22
    assert "16 of 17 terms, together 2^{-22}" in sentences(of)[3]


@pytest.mark.parametrize("formats", [("fp16", "fp32"), ("e5m2", "fp16"), ("tf32", "fp32")])
def test_random_examples_are_exact_in_every_format(formats: tuple[str, str]) -> None:
    of = state((1,), (1,), 1, formats=formats).with_preset("random")
    fields = ["c", *(f"{factor}{term.place}" for term in of.terms for factor in "ab")]
    assert all(of.entry(field).exact for field in fields)
    assert (of.input_format, of.output_format) == formats


@pytest.mark.parametrize("name", PRESETS)
def test_every_example_has_a_name_and_a_picture(name: str) -> None:
    assert words.PRESETS[name]
    of = state(formats=("e4m3", "fp16")).with_preset(name)
    assert pictures(of)[0].as_data()["columns"] > 0


@pytest.mark.parametrize(
    ("a", "c", "result"),
    [("inf", "1", "inf"), ("-inf", "1", "-inf"), ("inf", "-inf", "nan"), ("nan", "0", "nan")],
)
def test_infinities_and_nan_decide_without_a_grid(a: str, c: str, result: str) -> None:
    picture = pictures(state((a, 1), (1, 1), c))[0]
    assert picture.grid() is None
    assert picture.as_data()["columns"] == 0
    assert picture.sentences()[0].startswith("An infinity or a NaN decides the result: " + result)


def test_zero_terms_are_named_in_runs_and_not_drawn() -> None:
    picture = pictures(state((1, 0, 0, 0, 1, 0, 1, 1), (1,) * 8, 0))[0]
    assert [row.key for row in picture.drawn] == ["0", "4", "6", "7"]
    assert picture.zeros() == "Terms 1 to 3, 5, 8 to 15 and C are 0 and not drawn."
    assert pictures(state((1,) * 16, (1,) * 16, 0))[0].zeros() == "C is 0 and not drawn."
    _, second = pictures(state(gpu="V100"))
    assert second.zeros() == "Terms 5 to 7 are 0 and not drawn."
    one = pictures(state((1,) * 15, (1,) * 15, 1))[0]
    assert one.zeros() == "Term 15 is 0 and not drawn."


def test_all_zero_gives_zero_and_says_so() -> None:
    picture = pictures(state((0,), (1,), 0))[0]
    assert picture.drawn == []
    told = picture.sentences()
    assert told[0].startswith("All products are zero")
    assert "the one the hardware gives to zero" in told[1]
    assert chain(picture.chain.state).result == 0


def test_a_term_far_below_is_told_with_its_value() -> None:
    data = pictures(state((1,), (1,), "2^-100"))[0].as_data()
    strip = data["terms"][1]["strip"]
    assert strip["far"]
    assert strip["rest"] == "→ 2^{-100}"
    assert data["columns"] <= 1 + 25 + SHOWN_BELOW + 1


def test_bits_right_of_the_picture_are_counted() -> None:
    grid = Grid.around([digits(1 + Fraction(1, 2**30), 0)], 0, -10)
    strip = grid.strip(digits(1 + Fraction(1, 2**30), 0))
    assert (len(strip["digits"]), strip["hidden"], strip["far"]) == (1 + 10 + SHOWN_BELOW, 6, False)


def test_a_screen_reader_hears_what_is_kept_and_what_is_cut() -> None:
    spoken = [row["spoken"] for row in pictures(state(gpu="A100"))[0].as_data()["terms"]]
    assert spoken[0] == "significand 1, all kept"
    assert spoken[2] == "significand 1.1: 1 bit kept, 1 cut off, worth 2^-14"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (-0.0, "-0"),
        (Fraction(-2048), "-2048"),
        (Fraction(2**20), "2^{20}"),
        (Fraction(-3, 2**14), "-3 × 2^{-14}"),
        (1 - 2.0**-24, "1 - 2^{-24}"),
        (-(1 + 2.0**-23), "-(1 + 2^{-23})"),
        (math.inf, "inf"),
        (0.0999755859375, "0.0999755859375"),
        (Fraction(1398101, 2**22), "≈ 0.333333254"),
    ],
)
def test_values_are_written_as_people_would(number: Fraction | float, text: str) -> None:
    assert value(number) == text


def test_ulps_are_those_of_the_exact_value() -> None:
    assert ulps(1.0, 1 + 2**-23, "fp32") == -1
    assert ulps(1 + 2**-23, 1 - 2**-24, "fp32") == 3
    assert ulps(1.0, 1 + 2**-10, "fp16") == -1
    assert ulps(2**-23, 0.0, "fp32") is None
    assert ulps(math.inf, 1.0, "fp32") is None


@pytest.mark.parametrize("module", [block_grid, block_picture, block_values])
def test_docstring_examples_hold(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted
    assert result.failed == 0
