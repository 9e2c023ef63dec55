"""Recipes have one name each, and a text that is none is refused with what to write."""

from __future__ import annotations

import pytest

from ampcourse.benchmark.layers import RECIPES
from ampcourse.benchmark.presets import PRESETS
from ampcourse.benchmark.recipes import BASES, Recipe, parse

EVERY = [
    Recipe(base, layout, compiled, checkpointing)
    for base in BASES
    for layout in ("NCHW", "NHWC")
    for compiled in (False, True)
    for checkpointing in (False, True)
]


def test_every_recipe_is_read_back_from_its_name() -> None:
    assert [parse(recipe.name) for recipe in EVERY] == EVERY
    assert len({recipe.name for recipe in EVERY}) == len(EVERY)


def test_case_order_and_older_words_do_not_matter() -> None:
    wanted = Recipe("amp-fp16", "NHWC", True, True)
    assert parse("AMP-FP16+Checkpoint+channels_last+compile") == wanted
    assert parse("o1") == Recipe("O1")
    assert parse("fp32 + nchw") == Recipe("fp32")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("amp-fp61", "did you mean 'amp-fp16'"),
        ("", "choose from fp32"),
        ("fp32+fast", r"'fast' is no option; after the base come any of \+nchw"),
        ("fp32+nhwc+nhwc", "says one thing twice"),
        ("fp32+nchw+nhwc", "says one thing twice"),
    ],
)
def test_what_is_no_recipe_is_refused_with_what_to_write(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


def test_fields_that_are_no_recipe_are_refused() -> None:
    with pytest.raises(ValueError, match="layout='nhwc' is unknown"):
        Recipe("fp32", "nhwc")
    with pytest.raises(ValueError, match="base='fp64' is unknown"):
        Recipe("fp64")


def test_every_base_has_a_limit_that_fits_it() -> None:
    for base in BASES.values():
        rule = RECIPES[base.arithmetic]
        assert rule.scaler == bool(base.scaler)
        assert (rule.half == "fp16") == base.needs_fp16
        assert (rule.matmul == "tf32") == (base.tf32 == "tf32")


def test_the_presets_name_recipes_that_there_are() -> None:
    for plan in PRESETS.values():
        for part in plan.parts:
            for text in part.recipes:
                assert parse(text).name == text
