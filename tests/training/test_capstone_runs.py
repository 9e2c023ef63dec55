"""The record of lesson 14's trainings is whole, and is what the course's own parts train to."""

from __future__ import annotations

import math
import re

import pytest

from ampcourse.training.capstone_runs import COMMAND, SEED_EPOCHS, SEEDS, STEP_EPOCHS, load

pytest.importorskip("torch", reason="trains with torch")


def test_it_says_how_and_on_what_it_was_made() -> None:
    record = load()
    assert record["command"] == COMMAND
    assert "torch" in record["hardware"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])


def test_it_has_each_step_and_each_precision_with_every_seed() -> None:
    from ampcourse.training.capstone import PRECISIONS

    record = load()
    assert set(record["steps"]) == {"half_repaired", "train_step"}
    assert {name: len(runs) for name, runs in record["seeds"].items()} == dict.fromkeys(
        PRECISIONS, len(SEEDS)
    )


def test_each_run_has_a_loss_and_a_scale_for_each_of_its_steps() -> None:
    from ampcourse.training.capstone import start

    record = load()
    runs = [(STEP_EPOCHS, run) for run in record["steps"].values()]
    runs += [(SEED_EPOCHS, run) for found in record["seeds"].values() for run in found]
    each = len(start("small").batches)
    for epochs, run in runs:
        assert len(run["losses"]) == len(run["scales"]) == epochs * each
        assert all(math.isfinite(loss) for loss in run["losses"])
        assert all(0 < score < 1 for score in run["scores"].values())


def test_only_fp16_has_a_scale_that_moves() -> None:
    found = load()["seeds"]
    for precision, runs in found.items():
        moved = [len(set(run["scales"])) > 1 for run in runs]
        assert moved == [precision == "amp-fp16"] * len(SEEDS)


def test_the_same_parts_begin_with_the_recorded_losses_here() -> None:
    from ampcourse.training.capstone import start
    from ampcourse.training.reference import fit

    run = start("small", epochs=STEP_EPOCHS)
    fit(run, 5)
    here = [entry["loss"] for entry in run.history]
    assert here == pytest.approx(load()["steps"]["train_step"]["losses"][:5], rel=0.01)
