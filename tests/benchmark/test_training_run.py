"""A training run trains as a plain loop does, and notes what really happened."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from torch.nn import functional as F

from ampcourse.benchmark import models, training_run
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.pictures import Pictures, synthetic
from ampcourse.benchmark.recipes import parse
from ampcourse.benchmark.steps import Step, prepare
from ampcourse.benchmark.training_run import learning_rate, train
from ampcourse.distributed import Ranks, launch

DATA = synthetic(size=16, count=40)


@contextmanager
def ready(recipe: str = "fp32", seed: int = 0, rate: float = 0.1) -> Iterator[Step]:
    model = models.build("tiny", stem="3x3", seed=seed)
    step = prepare(parse(recipe), model, models.sgd(rate), Machine())
    with step.active():
        yield step


def run(step: Step, data: Pictures = DATA, **options: Any) -> dict[str, Any]:
    return train(step, data, Machine(), **{"batch": 16, "epochs": 2, "seed": 3, **options})


def test_it_trains_as_a_plain_loop_with_the_same_order_and_learning_rates() -> None:
    with ready() as step:
        row = run(step)
    model = models.build("tiny", stem="3x3", seed=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    generator = torch.Generator().manual_seed(3)
    losses: list[float] = []
    rates = iter([1.0, 1.0, 2 / 3, 1 / 3])  # of four steps, 40 // 16 in each of two epochs
    for _ in range(2):
        order = torch.randperm(40, generator=generator)
        for start in (0, 16):
            chosen = order[start : start + 16]
            optimizer.param_groups[0]["lr"] = 0.1 * next(rates)
            images = DATA.train_images[chosen].float().div(255).sub(0.5).div(0.2)
            loss = F.cross_entropy(model(images), DATA.train_labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    for name, weight in step.model.state_dict().items():
        assert weight.equal(model.state_dict()[name]), name
    means = [sum(losses[:2]) / 2, sum(losses[2:]) / 2]
    assert [epoch["loss"] for epoch in row["epochs"]] == pytest.approx(means, rel=2**-23)
    assert (row["status"], row["steps"], row["skipped_steps"]) == ("ok", 4, 0)


def test_scores_are_scikit_learns_on_all_test_images_in_evaluation_mode() -> None:
    with ready() as step:
        final = run(step, batch=12)["final"]  # which does not divide the 40 test images
        step.model.eval()
        with torch.no_grad():
            outputs = step.forward(DATA.inputs(DATA.test_images))
    labels, guesses = DATA.test_labels.numpy(), outputs.argmax(1).numpy()
    options: Any = {"average": "macro", "zero_division": 0.0}
    expected = {
        "test_accuracy": accuracy_score(labels, guesses),
        "precision": precision_score(labels, guesses, **options),
        "recall": recall_score(labels, guesses, **options),
        "f1": f1_score(labels, guesses, **options),
        # Batches of other sizes may sum in another order.
        "test_loss": pytest.approx(F.cross_entropy(outputs, DATA.test_labels).item(), rel=1e-6),
    }
    assert {name: final[name] for name in expected} == pytest.approx(expected, abs=1e-15)


def test_it_learns_what_there_is_to_learn() -> None:
    with ready() as step:
        row = run(step, synthetic(size=16), epochs=6)
    assert row["epochs"][0]["loss"] > 2  # near ln 10
    assert row["final"]["test_accuracy"] > 0.9


def test_recipes_of_a_seed_see_the_same_images_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, list[list[int]]] = {}
    for name, seed in (("fp32", 3), ("amp-bf16", 3), ("fp32+nhwc", 4)):
        with ready(name) as step:
            labels = seen.setdefault(name, [])
            original = step.step

            def spy(
                images: Any, chosen: Any, labels: Any = labels, original: Any = original
            ) -> Any:
                labels.append(chosen.tolist())
                return original(images, chosen)

            monkeypatch.setattr(step, "step", spy)
            run(step, seed=seed)
    assert seen["fp32"] == seen["amp-bf16"] != seen["fp32+nhwc"]
    assert seen["fp32"][:2] != seen["fp32"][2:]  # a new order in each epoch


@pytest.mark.parametrize("recipe", ["amp-fp16", "amp-fp16-ours"])
def test_the_history_of_the_scale_has_each_skip_where_it_was(recipe: str) -> None:
    with ready(recipe) as step:
        step.scaler.load_state_dict(step.scaler.state_dict() | {"scale": 2.0**40})
        after = [2.0**40]
        update = step.scaler.update

        def watched() -> None:
            update()
            after.append(step.scaler.get_scale())

        step.scaler.update = watched
        row = run(step, epochs=5)
    changes = [
        [number, scale]
        for number, (before, scale) in enumerate(zip([0.0, *after], after, strict=False))
        if scale != before
    ]
    assert row["scale_history"] == changes
    assert len(changes) > 5
    assert row["skipped_steps"] == len(changes) - 1
    assert row["epochs"][-1]["scale"] == after[-1]


def test_a_recipe_without_a_loss_scale_has_no_history() -> None:
    with ready() as step:
        row = run(step)
    assert row["scale_history"] == []
    assert row["final"]["scale"] is None


def test_shares_of_small_gradients_are_counted_exactly() -> None:
    weight = torch.nn.Parameter(torch.zeros(8))
    weight.grad = torch.tensor(
        [0.0, 2**-25, -(2**-26), 2**-24, -(2**-24), 1.0, math.inf, 2**-24 * (1 - 2**-23)]
    )
    unused = torch.nn.Parameter(torch.zeros(2))
    counts = training_run._count_small(torch.optim.SGD([weight, unused]))
    assert training_run._shares(5, counts) == {"step": 5, "below": 3 / 7, "zero": 1 / 7}


def test_gradients_are_looked_at_in_named_steps_and_unscaled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training_run, "SMALLEST_FP16", 2.0**-10)
    shares = {}
    for recipe in ("fp32", "amp-fp16"):
        with ready(recipe) as step:
            shares[recipe] = run(step, epochs=6)["flushed_share"]
    assert [look["step"] for look in shares["fp32"]] == [1, 10, 12]
    first, scaled = shares["fp32"][0]["below"], shares["amp-fp16"][0]["below"]
    assert 0.05 < first < 0.95
    # Scaled by 2^16 nearly none would be below; in FP16 they differ by its rounding.
    assert abs(first - scaled) < 0.05


def test_drawing_images_counts_as_time_of_training_and_evaluation_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    class Slow(Pictures):
        def inputs(self, images: torch.Tensor) -> torch.Tensor:
            clock[0] += 5.0
            return super().inputs(images)

    slow = Slow(**{name: getattr(DATA, name) for name in DATA.__dataclass_fields__})
    with ready() as step:
        row = run(step, slow)
    assert [epoch["seconds"] for epoch in row["epochs"]] == [10.0, 10.0]
    assert row["wall_s"] == 20.0
    assert row["evaluation_s"] == 2 * 3 * 5.0  # 40 images in three batches, twice


def test_no_epoch_begins_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def progress(steps: int) -> None:
        clock[0] += steps

    with ready() as step:
        row = run(step, epochs=9, deadline=3.5, progress=progress)
    assert (len(row["epochs"]), row["steps"], row["stopped_early"]) == (2, 4, True)
    with ready() as step:
        row = run(step, deadline=-1.0)
    assert (row["epochs"], row["final"], row["status"]) == ([], {}, "ok")


def test_a_loss_that_is_not_finite_ends_the_run_and_says_in_which_epoch() -> None:
    with ready(rate=1e30) as step:
        row = run(step, epochs=5)
    assert row["status"] == "failed"
    assert row["message"] in ("the loss of epoch 1 is nan", "the loss of epoch 1 is inf")
    assert len(row["epochs"]) == 1
    assert "test_accuracy" not in row["final"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs=0 trains nothing"),
        ({"batch": 41}, "batch=41 must be between 1 and 40, the images there are"),
        ({"batch": 0}, "batch=0 must be"),
        ({"batch": 15, "ranks": Ranks(0, 2)}, "choose 14 or 16"),
    ],
)
def test_a_run_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with ready() as step, pytest.raises(ValueError, match=message):
        run(step, **options)


def test_learning_rates_rise_to_the_whole_and_fall_to_nothing() -> None:
    for total in (1, 2, 7, 100):
        rates = [learning_rate(done, total) for done in range(total)]
        assert max(rates) == 1.0
        assert min(rates) > 0
        assert sorted(rates[rates.index(1.0) :], reverse=True) == rates[rates.index(1.0) :]
    assert learning_rate(100, 100) == 0.0


@pytest.mark.parametrize("count", [1, 2, 5, 12, 13])
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_each_test_image_counts_in_one_process_and_all_see_as_many(
    count: int, processes: int
) -> None:
    counted: list[int] = []
    sizes = set()
    for rank in range(processes):
        parts = list(training_run._shared(count, 2, Ranks(rank, processes)))
        sizes.add(tuple(len(part) for part, _ in parts))
        counted += [place for part, inside in parts for place in part[:inside].tolist()]
    assert sorted(counted) == list(range(count))
    assert len(sizes) == 1


def test_two_processes_train_one_model_and_score_all_test_images(tmp_path: Path) -> None:
    odd = replace(DATA, test_images=DATA.test_images[:39], test_labels=DATA.test_labels[:39])
    torch.save(odd, tmp_path / "data.pt")
    worker = Path(__file__).with_name("training_worker.py")
    launch([str(worker), str(tmp_path)], 2, timeout=240)
    first, second = (torch.load(tmp_path / f"{i}.pt", weights_only=False) for i in (0, 1))
    for name, weight in first["weights"].items():
        if "running" not in name:  # each process's batch norms see its own images
            assert weight.equal(second["weights"][name]), name
    for row in (first["row"], second["row"]):
        assert row["final"] == first["row"]["final"]
        assert row["final"]["test_accuracy"] == first["alone"]["accuracy"]
        assert row["final"]["f1"] == first["alone"]["f1"]
        assert (row["steps"], row["skipped_steps"]) == (8, 1)
        assert row["scale_history"] == [[0, 2.0**16], [1, 2.0**15]]
