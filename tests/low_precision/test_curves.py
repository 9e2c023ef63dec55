"""Training under a recipe repeats itself; the record is whole, and made again piece by piece."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from ampcourse.low_precision import RECIPES, QuantizedLinear, curves
from ampcourse.low_precision.curves import Training, record, recorded, train


def mean(losses: list[float], last: int = 50) -> float:
    return sum(losses[-last:]) / last


@pytest.mark.parametrize("recipe", ["fp8_delayed", "nvfp4_stochastic"])
def test_the_same_seed_gives_the_same_losses_and_leaves_torchs_generator(recipe: str) -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = train(recipe, 3)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    assert train(recipe, 3) == first
    assert train(recipe, 3, seed=1) != first
    assert train("fp32", 3)[0] != first[0]


def test_training_in_pieces_is_training_at_once() -> None:
    training = Training("nvfp4_stochastic")
    training.run(2)
    torch.manual_seed(9)
    assert training.run(2) == train("nvfp4_stochastic", 4)
    assert training.losses == train("nvfp4_stochastic", 4)
    with pytest.raises(ValueError, match="steps = 0 is no training"):
        training.run(0)
    with pytest.raises(ValueError, match="recipe = 'fp5' is unknown"):
        train("fp5")


def test_every_linear_layer_is_quantised_and_training_learns() -> None:
    training = Training("mxfp4")
    linear = [m for m in training.model.modules() if isinstance(m, torch.nn.Linear)]
    assert len(linear) == 6
    assert all(isinstance(layer, QuantizedLinear) for layer in linear)
    losses = training.run(40)
    assert mean(losses, 5) < losses[0] - 0.8
    assert training.test_accuracy() > 0.4


def test_an_interruption_leaves_the_losses_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training("fp32")
    training.run(2)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training.optimizer, "step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        training.run(1)
    assert len(training.losses) == 2


def test_the_record_has_three_trainings_of_each_recipe_and_says_what_made_them() -> None:
    content = recorded()
    assert set(content["curves"]) == set(RECIPES)
    assert content["settings"] == json.loads(json.dumps(curves.SETTINGS))
    for key in ("command", "date", "hardware", "threads", "versions", "steps"):
        assert content[key]
    for rows in content["curves"].values():
        assert [row["seed"] for row in rows] == [0, 1, 2]
        for row in rows:
            assert len(row["losses"]) == content["steps"]
            assert all(math.isfinite(loss) for loss in row["losses"])
            assert 0.1 < row["test_accuracy"] < 1


def test_in_the_record_8_bits_end_at_bf16_blocks_of_4_close_to_it_and_the_others_far_off() -> None:
    end = {
        name: sum(mean(row["losses"]) for row in rows) / len(rows)
        for name, rows in recorded()["curves"].items()
    }
    above = {name: loss - end["bf16"] for name, loss in end.items()}
    level = ("fp32", "fp8", "fp8_delayed", "mxfp8", "e4m3")
    assert all(abs(above[name]) < 0.005 for name in level)
    assert 0.005 < above["e5m2_unscaled"] < 0.02
    assert all(0.01 < above[name] < 0.05 for name in ("mxfp4", "nvfp4", "nvfp4_stochastic"))
    assert 0.15 < above["fp4"] < above["e4m3_unscaled"] / 2


@pytest.mark.parametrize("recipe", ["fp32", "bf16", "fp8_delayed", "mxfp4"])
def test_the_record_begins_as_a_training_here_does(recipe: str) -> None:
    (row,) = [row for row in recorded()["curves"][recipe] if row["seed"] == 0]
    # Another CPU sums in another order, and a step may turn that into another rounding.
    for here, there in zip(train(recipe, 3), row["losses"], strict=False):
        assert abs(here - there) < 2.0**-6


def test_e5m2_without_a_scale_ends_within_what_another_seed_of_bf16_changes() -> None:
    found = recorded()["curves"]
    bf16 = [mean(row["losses"]) for row in found["bf16"]]
    unscaled = [mean(row["losses"]) for row in found["e5m2_unscaled"]]
    spread = max(bf16) - min(bf16)
    assert all(min(bf16) - spread < end < max(bf16) + spread for end in unscaled)


def test_a_record_is_written_after_each_training_and_completed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "curves.json"
    record(path, ["fp32"], steps=2, seeds=1)
    first = path.read_text("utf-8")
    monkeypatch.setattr(curves, "_measured", forbidden)
    assert record(path, ["fp32"], steps=2, seeds=1)["curves"]["fp32"][0]["seed"] == 0
    with pytest.raises(KeyboardInterrupt):
        record(path, ["fp32", "bf16"], steps=2, seeds=1)
    assert path.read_text("utf-8") == first
    monkeypatch.undo()
    content = record(path, ["fp32", "bf16"], steps=2, seeds=2)
    assert [row["seed"] for row in content["curves"]["bf16"]] == [0, 1]
    assert json.loads(path.read_text("utf-8")) == content
    assert content["curves"]["bf16"][1]["losses"] == [round(x, 4) for x in train("bf16", 2, 1)]
    with pytest.raises(ValueError, match="holds trainings with steps = 2, not 3"):
        record(path, ["fp32"], steps=3, seeds=1)


def forbidden(*_: Any) -> None:
    raise KeyboardInterrupt


def test_the_command_makes_a_record(tmp_path: Path) -> None:
    path = tmp_path / "again.json"
    options = ["--output", str(path), "--steps", "1", "--seeds", "1", "--recipes", "fp32"]
    command = [sys.executable, "-m", "ampcourse.low_precision.curves", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "fp32, seed 0" in done.stdout
    assert json.loads(path.read_text("utf-8"))["threads"] == 1
