"""Equivalence is shown by two one-sided tests of paired seeds, not by a test that found nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from ampcourse.benchmark.equivalence import MARGIN, Equivalence, equivalence

DIFFERENCES = st.lists(
    st.integers(-400, 400).map(lambda n: n / 10_000), min_size=2, max_size=6, unique=True
)


def of(differences: list[float], margin: float = MARGIN) -> Equivalence:
    pairs = {seed: (0.8, 0.8 + d) for seed, d in enumerate(differences)}
    return Equivalence("fp32", "amp-bf16", pairs, margin)


@given(DIFFERENCES)
def test_it_holds_where_both_one_sided_tests_reject_at_5_percent(differences: list[float]) -> None:
    found = of(differences)
    p_values = [
        stats.ttest_1samp(found.differences, bound, alternative=side).pvalue
        for bound, side in ((-MARGIN, "greater"), (MARGIN, "less"))
    ]
    assume(all(abs(p - 0.05) > 1e-9 for p in p_values))
    assert found.holds == all(p < 0.05 for p in p_values)


def test_few_runs_that_scatter_show_nothing_even_without_a_difference() -> None:
    scattered = of([-0.03, 0.0, 0.03])
    assert scattered.difference == pytest.approx(0, abs=1e-15)
    assert not scattered.holds
    assert str(scattered).endswith("over 3 seeds: not shown to be equivalent within ±2 points")


def test_a_difference_is_the_recipes_minus_the_baselines() -> None:
    assert of([0.01, 0.015, 0.02]).difference > 0
    low, high = of([0.01, 0.015, 0.02]).interval
    # By hand: mean 0.015, s = 0.005, t(0.95; 2) = 2.91999 (tables), s / sqrt(3) = 0.0028868.
    assert (low, high) == pytest.approx((0.015 - 0.0084293, 0.015 + 0.0084293), abs=1e-6)


def row(recipe: str, seed: int, accuracy: float, **more: Any) -> dict[str, Any]:
    return {
        "kind": "training",
        "status": "ok",
        "recipe": recipe,
        "seed": seed,
        "epochs": [{}, {}],
        "final": {"test_accuracy": accuracy},
        "data": "some",
        "batch": 8,
        **more,
    }


def test_rows_are_paired_by_seed_and_others_left_out() -> None:
    rows = [row("amp-bf16", seed, 0.7 + seed / 100) for seed in (2, 1, 0)]
    rows += [row("fp32", seed, 0.6) for seed in (0, 1, 3)]
    rows += [row("tf32", 0, 0.1), row("fp32", 2, 0.1, status="failed"), {"kind": "gemm"}]
    rows += [row("fp32", 2, 0.1, stopped_early=True)]
    found = equivalence(rows, "amp-bf16")
    assert found.accuracies == {0: (0.6, 0.7), 1: (0.6, 0.71)}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (row("amp-bf16", 1, 0.8, data="others"), "data others and some are no pairs"),
        (row("amp-bf16", 1, 0.8, batch=16), "batch 16 and 8"),
        (row("amp-bf16", 1, 0.8, epochs=[{}]), "1 and 2 epochs are no pairs"),
        (row("amp-bf16", 7, 0.8), "1 seeds that both fp32 and amp-bf16 ran"),
    ],
)
def test_what_is_no_pair_is_refused(other: dict[str, Any], message: str) -> None:
    rows = [row("fp32", 0, 0.8), row("fp32", 1, 0.8), row("amp-bf16", 0, 0.8), other]
    with pytest.raises(ValueError, match=message):
        equivalence(rows, "amp-bf16")


def test_a_margin_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"margin=0\.0 allows no difference"):
        of([0.0, 0.01], margin=0.0)
