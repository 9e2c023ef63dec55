"""The plans with a name: what they hold, that they fit their time, how options change them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ampcourse.benchmark.budget import Budget, Costs
from ampcourse.benchmark.plans import Gemm, LargestBatch, Plan, Throughput, Training
from ampcourse.benchmark.presets import CPU_SHORT, GPU_FULL, PRESETS, REHEARSAL, preset
from ampcourse.benchmark.recipes import BASES, parse

EIGHT_MINUTES = 480


def of_kind(plan: Plan, kind: Any) -> list[Any]:
    return [part for part in plan.parts if isinstance(part, kind)]


def test_presets_have_a_name_by_purpose_and_one_by_machine() -> None:
    assert preset("h200") is preset("gpu-full")
    assert preset("laptop") is preset("cpu-short")
    with pytest.raises(ValueError, match="preset 'h100' is unknown; did you mean 'h200'"):
        preset("h100")


def test_the_gpu_plan_measures_every_base_both_layouts_compiling_and_checkpointing() -> None:
    recipes = [parse(text) for part in of_kind(GPU_FULL, Throughput) for text in part.recipes]
    assert {recipe.base for recipe in recipes} == set(BASES)
    for base in ("fp32", "default", "tf32", "amp-fp16", "amp-bf16"):
        layouts = {recipe.layout for recipe in recipes if recipe.base == base}
        assert layouts == {"NCHW", "NHWC"}, base
    assert any(recipe.compiled for recipe in recipes)
    assert any(recipe.checkpointing for recipe in recipes)
    for part in of_kind(GPU_FULL, Throughput):
        assert part.recipes[0] == "fp32"


def test_the_gpu_plan_is_the_issues() -> None:
    full, small, compiled = of_kind(GPU_FULL, Throughput)
    assert (full.task.size, full.task.batch, full.task.model) == (96, 1024, "resnet50")
    assert (small.task.size, small.task.batch, small.task.stem) == (28, 256, "stock")
    [training] = of_kind(GPU_FULL, Training)
    assert training.epochs == 10
    assert training.images is None
    bases = [parse(text) for text in training.recipes]
    assert [recipe.base for recipe in bases] == ["fp32", "amp-fp16", "amp-bf16"]
    assert {recipe.layout for recipe in bases} == {"NHWC"}
    assert GPU_FULL.parts[-1] is compiled
    assert not any(parse(text).compiled for part in GPU_FULL.parts[:-1] for text in part.recipes)
    assert of_kind(GPU_FULL, Gemm)
    assert of_kind(GPU_FULL, LargestBatch)


def test_the_rehearsal_has_every_kind_of_part_and_every_uncompiled_recipe_of_the_gpu_plan() -> None:
    assert {part.kind for part in REHEARSAL.parts} == {part.kind for part in GPU_FULL.parts}
    assert REHEARSAL.parts[0].recipes == GPU_FULL.parts[0].recipes
    assert any(parse(text).compiled for text in REHEARSAL.parts[-1].recipes)


def test_the_cpu_plan_leaves_fp16_out() -> None:
    for part in CPU_SHORT.parts:
        assert not any(parse(text).rule.needs_fp16 for text in part.recipes)
    assert CPU_SHORT.seconds < 240


def test_the_gpu_plan_leaves_half_a_minute_of_its_eight() -> None:
    assert GPU_FULL.seconds + 30 <= EIGHT_MINUTES


def test_on_an_h200_the_gpu_plan_keeps_eight_minutes() -> None:
    # The last part begins with a recipe to compile or ends: what is left out says so in its row.
    budget = Budget("H200")
    parts = budget.of(GPU_FULL)
    before_compiling = sum(seconds for _, seconds in parts[:-1])
    compile_s = of_kind(GPU_FULL, Throughput)[-1].compile_s
    assert before_compiling + compile_s < GPU_FULL.seconds
    quick = Budget("H200", replace(Costs(), compile_s=45.0))
    assert quick.total(GPU_FULL) < EIGHT_MINUTES


def test_a_slower_gpu_needs_longer_and_on_a_4090_the_plan_would_not_fit() -> None:
    totals = [Budget(name).total(GPU_FULL) for name in ("H200", "A100", "RTX 4090")]
    assert totals[0] < min(totals[1:])
    assert totals[-1] > EIGHT_MINUTES


def test_a_budget_adds_up_from_steps_no_shorter_than_limit_and_host_allow() -> None:
    budget = Budget("H200", Costs(efficiency=1.0, issue_s=0.017))
    full, small, _ = of_kind(GPU_FULL, Throughput)
    from ampcourse.benchmark.models import build
    from ampcourse.benchmark.roofline import limits

    wanted = limits(build(), (1024, 1, 96, 96), "H200", ["fp32", "amp-fp16"])
    for name in ("fp32", "amp-fp16"):
        assert budget.step_s(parse(f"{name}+nhwc"), full.task) == wanted[name].seconds
    assert budget.step_s(parse("amp-fp16+nhwc"), small.task) == 0.017
    assert budget.total(GPU_FULL) == sum(seconds for _, seconds in budget.of(GPU_FULL))


def test_options_change_every_part_that_has_them() -> None:
    plan = GPU_FULL.changed(model="resnet18", batch=8, epochs=3, recipes=("fp32",), rounds=None)
    for part in plan.parts:
        if isinstance(part, Gemm):
            continue
        assert (part.task.model, part.task.batch) == ("resnet18", 8)
        assert part.recipes == ("fp32",)
    assert of_kind(plan, Training)[0].epochs == 3
    assert of_kind(plan, Throughput)[0].rounds == of_kind(GPU_FULL, Throughput)[0].rounds


def test_an_option_that_no_part_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no part of the plan gpu-full has epochs"):
        GPU_FULL.only(("throughput",)).changed(epochs=3)
    with pytest.raises(ValueError, match="has no gemm; it has throughput, training"):
        CPU_SHORT.only(("gemm",))
    with pytest.raises(ValueError, match="recipe 'fp99'"):
        CPU_SHORT.changed(recipes=("fp99",))
    with pytest.raises(ValueError, match="leaves no time"):
        CPU_SHORT.timed(0)


def test_every_preset_says_what_it_is_for() -> None:
    assert all(plan.says for plan in PRESETS.values())
