"""Only what may be compared stands together, and host-bound ratios are known for what they are."""

from __future__ import annotations

import pytest

from ampcourse.report.comparison import problems, rates, trainings
from tests.report.made_rows import MACHINE, largest, rate, training


def test_rows_of_another_batch_size_or_machine_are_other_groups() -> None:
    rows = [
        rate("fp32", 1000),
        rate("amp-bf16", 2000),
        rate("tf32", 1100, batch=128),
        rate("default", 900, image_size=28),
        rate("O1", 500, machine=MACHINE | {"name": "NVIDIA A100"}),
        rate("O2", 1900, world_size=2),
    ]
    groups = rates(rows)
    assert [[entry.rate for entry in group.entries] for group in groups] == [
        [1000, 2000],
        [1100],
        [900],
        [500],
        [1900],
    ]
    assert groups[0].title == "NVIDIA H200: tiny, 3x3 stem, 16 px, batch 64"
    assert groups[4].title.endswith("batch 64, 2 processes")


def test_a_recipe_that_comes_again_begins_a_group_with_its_own_baseline() -> None:
    slow, fast = rate("fp32", 1000, host_bound=True), rate("fp32", 1100)
    first, second = rates([slow, rate("tf32", 1500), fast, rate("tf32+compile", 2000)])
    assert [entry.rate for entry in first.entries] == [1000, 1500]
    assert [entry.rate for entry in second.entries] == [1100, 2000]
    assert first.entries[1].host_bound
    assert not second.entries[1].host_bound


def test_a_ratio_stands_beside_that_of_the_limits() -> None:
    fast = rate("amp-bf16", 2500, roofline_images_per_s=40_000.0)
    [group] = rates([rate("fp32", 1000), fast])
    base, other = group.entries
    assert (base.ratio, base.limit_ratio, base.share) == (None, None, 0.1)
    assert (other.ratio, other.limit_ratio, other.share) == (2.5, 4.0, 0.0625)


def test_without_its_baseline_a_row_keeps_its_ratio_but_has_none_of_limits() -> None:
    [group] = rates([rate("amp-bf16", 2500)])
    assert (group.entries[0].ratio, group.entries[0].limit_ratio) == (2.5, None)


@pytest.mark.parametrize(
    ("base", "other", "expected"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_a_ratio_is_host_bound_if_one_of_its_sides_is(
    base: bool, other: bool, expected: bool
) -> None:
    rows = [rate("fp32", 1000, host_bound=base), rate("amp-bf16", 1100, host_bound=other)]
    [group] = rates(rows)
    assert group.entries[1].host_bound is expected


def test_the_largest_batch_stands_beside_the_ratio_at_equal_batch() -> None:
    rows = [rate("fp32", 1000), rate("amp-bf16", 2000), rate("tf32", 1500)]
    [group] = rates([*rows, largest("fp32", 100), largest("amp-bf16", 180)])
    assert [entry.largest_batch for entry in group.entries] == [100, 180, None]
    assert [entry.largest_batch_gain for entry in group.entries] == [None, 1.8, None]


def test_seeds_of_a_recipe_are_one_training_and_other_data_or_lengths_are_not() -> None:
    rows = [training(r, seed, 0.8) for seed in (0, 1) for r in ("fp32", "amp-bf16")]
    longer = training("fp32", 0, 0.9)
    longer["epochs"] = longer["epochs"] * 2
    groups = trainings([*rows, longer, training("fp32", 0, 0.7, data="other")])
    assert [[(t.recipe, len(t.rows)) for t in group.trainings] for group in groups] == [
        [("fp32", 2), ("amp-bf16", 2)],
        [("fp32", 1)],
        [("fp32", 1)],
    ]
    assert [group.title.rpartition(", ")[2] for group in groups] == [
        "2 epochs",
        "4 epochs",
        "2 epochs",
    ]


def test_means_are_over_seeds() -> None:
    [group] = trainings([training("fp32", 0, 0.8), training("fp32", 1, 0.9)])
    assert group.trainings[0].mean("f1") == pytest.approx(0.85, abs=1e-15)
    assert group.trainings[0].mean("wall_s") == 8.0
    assert group.trainings[0].seeds == {0, 1}


def test_equivalence_needs_two_seeds_that_fp32_ran_too() -> None:
    rows = [training("fp32", seed, 0.8) for seed in (0, 1, 2)]
    rows += [training("amp-bf16", seed, 0.8 + seed / 1000) for seed in (0, 1, 2)]
    rows += [training("tf32", 0, 0.8), training("tf32", 7, 0.8)]
    [group] = trainings(rows, margin=0.01)
    assert [(one.recipe, one.margin, one.holds) for one in group.equivalences] == [
        ("amp-bf16", 0.01, True)
    ]


def test_the_first_fp32_recipe_is_the_baseline_whatever_its_layout() -> None:
    names = ("amp-fp16+nhwc", "fp32+nhwc", "fp32")
    [group] = trainings([training(name, seed, 0.8) for seed in (0, 1) for name in names])
    assert group.baseline is group.trainings[1]
    assert [(one.baseline, one.recipe) for one in group.equivalences] == [
        ("fp32+nhwc", "amp-fp16+nhwc"),
        ("fp32+nhwc", "fp32"),
    ]
    [group] = trainings([training("amp-fp16", seed, 0.8) for seed in (0, 1)])
    assert (group.baseline, group.equivalences) == (None, [])


def test_what_did_not_end_well_is_no_result_but_a_problem() -> None:
    broken = rate("O3", 1.0, status="out_of_memory")
    failed = training("fp16", 0, 0.1, status="failed")
    assert rates([broken]) == []
    assert trainings([failed]) == []
    assert problems([broken, rate("fp32", 1.0), failed]) == [broken, failed]
