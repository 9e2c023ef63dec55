"""Which formats a recipe takes, and what its records say."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from ampcourse.formats import BF16, E4M3, E5M2
from ampcourse.low_precision import RECIPES, Recipe, get_recipe
from ampcourse.low_precision.recipe import operand_format


def test_none_is_bf16_and_a_format_or_scheme_is_taken_by_name() -> None:
    assert operand_format(None) is BF16
    assert operand_format("e5m2") is E5M2
    assert operand_format("per_tensor").name == "per_tensor_e4m3"
    assert operand_format("nvfp4").name == "nvfp4"


def test_fp8_is_e4m3_forward_and_e5m2_backward() -> None:
    # Transformer Engine's Format.HYBRID; arXiv 2209.05433 recommends the same.
    for name, scaling in (("fp8", "current"), ("fp8_delayed", "delayed")):
        recipe = RECIPES[name]
        assert recipe.scaling == scaling
        formats = [operand_format(f) for f in (recipe.weights, recipe.activations)]
        assert [f.element for f in formats] == [E4M3, E4M3]  # type: ignore[union-attr]
        assert operand_format(recipe.gradients).element == E5M2  # type: ignore[union-attr]


def test_e4m3_and_e4m3_unscaled_differ_in_scales_alone() -> None:
    for name in ("e4m3", "e4m3_unscaled", "e5m2_unscaled"):
        recipe = RECIPES[name]
        formats = [
            operand_format(f) for f in (recipe.weights, recipe.activations, recipe.gradients)
        ]
        if name == "e4m3":
            assert [f.element for f in formats] == [E4M3] * 3  # type: ignore[union-attr]
            assert all(f.name == "per_tensor_e4m3" for f in formats)
        else:
            assert formats == [E5M2 if name == "e5m2_unscaled" else E4M3] * 3


def test_every_recipe_has_the_name_it_is_found_by() -> None:
    assert {"fp32", "bf16", "fp8", "fp8_delayed", "mxfp8", "mxfp4", "nvfp4"} <= set(RECIPES)
    assert all(get_recipe(name) is RECIPES[name] for name in RECIPES)
    assert all(recipe.name == name for name, recipe in RECIPES.items())
    assert get_recipe(RECIPES["fp8"]) is RECIPES["fp8"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": "mxpf4"}, "did you mean 'mxfp4'"),
        ({"gradients": "int8"}, "'int8' is no format for an operand"),
        ({"scaling": "late"}, "scaling = 'late' is unknown; it is one of current, delayed"),
        ({"gradient_rounding": "stochastically"}, "did you mean 'stochastic'"),
        ({"history": 0}, "history = 0 is below 1"),
    ],
)
def test_a_wrong_choice_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe("mine", **arguments)  # type: ignore[arg-type]


def test_an_unknown_recipe_is_named_and_records_do_not_change() -> None:
    with pytest.raises(ValueError, match="recipe = 'nvpf4' is unknown; did you mean 'nvfp4'"):
        get_recipe("nvpf4")
    with pytest.raises(FrozenInstanceError):
        RECIPES["fp8"].name = "other"  # type: ignore[misc]
    assert replace(RECIPES["mxfp4"], gradient_rounding="stochastic").weights == "mxfp4"
