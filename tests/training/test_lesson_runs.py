"""The recorded runs of lessons 04 and 05 are runs: they can be made again, and agree with torch."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("torch")

from ampcourse.training import lesson_runs
from ampcourse.training.lesson_runs import KINDS, histograms, load

STEPS = range(0, lesson_runs.STEPS, lesson_runs.EVERY)


def test_an_unknown_run_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="'cnn' is no recorded run; there is deep_net, small_cnn"):
        load("cnn")


@pytest.mark.parametrize("name", ["small_cnn", "deep_net"])
def test_a_record_says_on_what_it_was_made(name: str) -> None:
    assert load(name)["hardware"].startswith("CPU, ")


@pytest.mark.parametrize("kind", KINDS)
def test_every_recorded_step_counts_the_same_number_of_values(kind: str) -> None:
    totals = {tuple(h.total for h in histograms(kind, step).values()) for step in STEPS}
    assert len(totals) == 1
    assert all(h.total == h.population for h in histograms(kind, STEPS[-1]).values())


def test_pooling_leaves_three_of_four_gradients_zero_and_makes_none_itself() -> None:
    found = histograms("activation_gradient", STEPS[-1])
    shares = {name: h.zeros / h.total for name, h in found.items()}
    assert {shares[name] for name in ("1", "4")} == {0.75}
    assert {shares[name] for name in ("2", "5", "7")} == {0}


def test_true_zeros_and_underflowed_gradients_are_counted_apart() -> None:
    twin = load("small_cnn")["twin"]
    assert [row["true"] / row["total"] for row in twin][1] == 0.75
    assert all(row["above"] <= row["underflowed"] <= row["total"] - row["true"] for row in twin)
    # What is lost behind a pooling is lost before it: zeros come, values do not.
    assert twin[1]["underflowed"] == twin[2]["underflowed"]


def test_the_first_step_of_lesson_04_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_runs, "STEPS", 1)
    again = lesson_runs.train_small_cnn()
    assert again.keys() == load("small_cnn").keys()
    assert all(row["true"] + row["underflowed"] <= row["total"] for row in again["twin"])
    assert again["losses"][0] == pytest.approx(load("small_cnn")["losses"]["0"], abs=1e-3)
    for kind in KINDS:
        for name, recorded in histograms(kind, 0).items():
            fresh = again["histograms"][kind][0][name]
            counts = dict(enumerate(fresh["counts"], fresh["first"]))
            moved = sum(abs(counts.get(e, 0) - recorded.at(e)) for e in range(-80, 5))
            assert moved <= 0.002 * recorded.total  # last bits differ from CPU to CPU


def test_the_first_loss_of_lesson_05_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in (("SEEDS", 1), ("DEEP_STEPS", 1), ("SLOW_STEPS", 1)):
        monkeypatch.setattr(lesson_runs, name, few)
    again = lesson_runs.train_deep_net()
    recorded: dict[str, Any] = load("deep_net")
    assert again.keys() == recorded.keys()
    for name, arm in again["arms"].items():
        assert arm["losses"][0][0] == pytest.approx(
            recorded["arms"][name]["losses"][0][0], abs=2e-3
        )


def test_the_record_of_lesson_05_has_both_of_its_findings() -> None:
    record = load("deep_net")
    arms = record["arms"]
    for name in ("scale 1, no masters", "scale 1, masters"):
        assert arms[name]["end"] == pytest.approx([math.log(10)] * 3, abs=0.01)
    for name in ("FP32", "scale 2^12, no masters", "scale 2^12, masters"):
        assert max(arms[name]["end"]) < 2
    for seed in record["slow"]:
        assert seed["masters"]["gain"] > 3 * seed["no masters"]["gain"] > 0
