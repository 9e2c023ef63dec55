"""The capstone's runs and batches.

The course's own parts (`training.reference`) are held against plain torch loops.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")

import torch
from torch.nn import functional as F

from ampcourse.training import reference
from ampcourse.training.capstone import (
    MODELS,
    PRECISIONS,
    Batches,
    Run,
    TrainingStopped,
    fingerprint,
    start,
)


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_num_threads(threads)


def short(seed: int = 0, **changes: Any) -> Run:
    return start("small", images=256, epochs=2, seed=seed, **changes)


def plain_loop(run: Run, steps: int) -> None:
    """Train with torch's own scaler; pieces of equal size, no schedule at a skipped step."""
    dtype = PRECISIONS[run.precision]
    for _ in range(steps):
        images, labels = run.batches.draw()
        run.optimizer.zero_grad()
        for x, y in zip(images.split(run.piece), labels.split(run.piece), strict=True):
            with torch.autocast("cpu", dtype, enabled=dtype is not None):
                loss = F.cross_entropy(run.model(x), y) / (len(images) // run.piece)
            run.scaler.scale(loss).backward()
        run.scaler.unscale_(run.optimizer)
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), run.max_norm)
        finite = all(p.grad is not None and p.grad.isfinite().all() for p in run.model.parameters())
        run.scaler.step(run.optimizer)
        run.scaler.update()
        if finite:
            run.scheduler.step()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_courses_step_is_a_plain_loop_with_torchs_scaler_bit_for_bit(precision: str) -> None:
    # At 2^22 the first steps in FP16 overflow and are skipped.
    options: dict[str, Any] = {"precision": precision, "scale": 2.0**22, "growth_interval": 2}
    one = short(**options)
    reference.fit(one, 12)
    two = short(**options)
    plain_loop(two, 12)
    assert fingerprint(one.model) == fingerprint(two.model)
    assert one.scaler.state_dict() == two.scaler.state_dict()
    assert one.scheduler.last_epoch == two.scheduler.last_epoch
    skipped = sum(not entry["taken"] for entry in one.history)
    assert (skipped > 0) == (precision == "amp-fp16")


def test_a_resumed_run_goes_on_bit_for_bit_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    whole = short(3)
    reference.fit(whole, 7)
    first = short(3)
    reference.fit(first, 2)
    reference.save(first, tmp_path / "c.pt")
    second = short(4)
    reference.load(second, tmp_path / "c.pt")
    reference.fit(second, 5)
    assert second.history == whole.history
    assert fingerprint(second.model) == fingerprint(whole.model)
    assert [path.name for path in tmp_path.iterdir()] == ["c.pt"]


@pytest.mark.parametrize("seed", range(3))
def test_two_epochs_in_fp16_beat_70_percent(seed: int) -> None:
    run = start("small", epochs=2, seed=seed)
    reference.fit(run, 2 * len(run.batches))
    assert reference.evaluate(run)["accuracy"] > 0.7


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")  # one of its mistakes
def test_the_half_repaired_step_learns_as_well_which_is_the_lessons_point() -> None:
    run = start("small", epochs=2)
    reference.fit(run, 2 * len(run.batches), reference.half_repaired)
    assert reference.evaluate(run)["accuracy"] > 0.7


def test_scores_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import accuracy_score, f1_score

    run = short()
    reference.fit(run, 3)
    found = reference.evaluate(run)
    run.model.eval()
    with torch.no_grad(), run.autocast():
        guesses = torch.cat([run.model(x).argmax(1) for x, _ in run.test_batches()])
    assert found["accuracy"] == accuracy_score(run.test[1], guesses)
    assert found["f1"] == f1_score(run.test[1], guesses, average="macro", zero_division=0)


@pytest.mark.parametrize(
    ("breaks", "cause"),
    [
        ("input", "input"),
        ("weights", "weights"),
        ("forward", "forward"),
        ("norm", "statistics"),
        ("scale", "gradients"),
    ],
)
def test_the_cause_of_a_number_that_is_not_finite_is_named(breaks: str, cause: str) -> None:
    run = short(scale=2.0**60 if breaks == "scale" else 1.0)
    images, labels = run.batches.draw()
    last: Any = list(run.model.modules())[-1]
    with torch.no_grad():
        if breaks == "input":
            images[3, 0, 5, 5] = float("nan")
        if breaks == "norm":
            next(run.model.buffers())[0] = float("inf")
        if breaks == "weights":
            last.weight[2, 2] = float("inf")
        if breaks == "forward":
            last.bias[0] = -1e30  # finite in FP32, not in FP16
    before = fingerprint(run.model)
    assert reference.cause(run, images, labels) == cause
    assert fingerprint(run.model) == before


def test_a_picture_that_is_not_finite_stops_training_with_the_step_noted() -> None:
    run = short(scale=2.0)
    run.batches.images = run.batches.images.float()
    run.batches.images[:, 0, 0, 0] = float("inf")
    with pytest.raises(TrainingStopped, match="stopped: input") as stop:
        reference.fit(run, 9)
    assert stop.value.cause == "input"
    assert [entry["scale"] for entry in run.history] == [1.0]


def test_training_stops_where_the_scale_collapses_though_every_loss_is_finite() -> None:
    run = short(scale=2.0)
    run.scaler.scale(torch.ones(1))  # the scaler makes its tensors with the first loss

    def overflows(run: Run, images: torch.Tensor, labels: torch.Tensor) -> tuple[float, bool]:
        run.scaler.update(run.scaler.get_scale() / 2)
        return 2.0, False

    with pytest.raises(TrainingStopped, match="stopped: gradients"):
        reference.fit(run, 9, overflows)
    assert [entry["scale"] for entry in run.history] == [1.0, 0.5]


def test_one_bit_changes_the_fingerprint() -> None:
    run = short()
    before = fingerprint(run.model)
    with torch.no_grad():
        first = next(run.model.parameters()).view(torch.int32).view(-1)
        first[0] ^= 1
    assert fingerprint(run.model) != before


def test_each_epoch_has_a_new_order_with_every_image_once_and_no_short_batch() -> None:
    images = torch.arange(10).reshape(10, 1)
    batches = Batches(images, torch.arange(10), 3, seed=5)
    assert len(batches) == 3
    epochs = [torch.cat([batches.draw()[1] for _ in range(3)]).tolist() for _ in range(2)]
    assert all(len(set(epoch)) == 9 for epoch in epochs)
    assert epochs[0] != epochs[1]
    again = Batches(images, torch.arange(10), 3, seed=5)
    assert torch.cat([again.draw()[1] for _ in range(3)]).tolist() == epochs[0]


@pytest.mark.parametrize("size", [0, 11])
def test_a_batch_that_the_data_does_not_have_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"a batch of {size}: give 1 to 10"):
        Batches(torch.zeros(10, 1), torch.zeros(10), size)


def test_the_scaler_does_something_in_amp_fp16_alone() -> None:
    enabled = {name: short(precision=name).scaler.is_enabled() for name in PRECISIONS}
    assert enabled == {"fp32": False, "amp-fp16": True, "amp-bf16": False}


def test_the_learning_rate_rises_and_falls_to_nothing() -> None:
    run = short(learning_rate=1.0)
    run.optimizer.step()
    rates = []
    for _ in range(9):
        rates.append(run.scheduler.get_last_lr()[0])
        run.scheduler.step()
    assert rates == pytest.approx([1.0, 1.0, 6 / 7, 5 / 7, 4 / 7, 3 / 7, 2 / 7, 1 / 7, 0.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "resnet51"}, "model 'resnet51' is unknown; choose from small, resnet50"),
        ({"precision": "fp16"}, "precision 'fp16' is unknown; choose from fp32, amp-fp16"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_legal_ones(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        start(**{"model": "small", "images": 256, **options})


def test_resnet50_is_built_for_grey_images_and_trains_a_step() -> None:
    pytest.importorskip("torchvision", reason="needs torchvision")
    run = start("resnet50", precision="amp-bf16", images=4, batch=4, piece=4, epochs=1)
    before = fingerprint(run.model)
    assert reference.fit(run, 1) == 0
    assert fingerprint(run.model) != before
    # torchvision gives 25,557,032 for 1,000 classes and three channels.
    others = 25_557_032 - 2049 * 1000 - 3 * 64 * 7 * 7
    assert sum(p.numel() for p in run.model.parameters()) == others + 2049 * 10 + 64 * 7 * 7


def test_every_model_has_settings() -> None:
    assert list(MODELS) == ["small", "resnet50"]


@pytest.mark.parametrize("precision", ["fp32", "amp-bf16", "amp-fp16"])
def test_a_forward_pass_that_overflows_stops_the_run_by_its_name_and_with_whole_weights(
    precision: str,
) -> None:
    run = short(precision=precision)
    reference.fit(run, 1)
    with torch.no_grad():
        last: Any = list(run.model.modules())[-1]
        last.bias[0] = -3e38  # finite in FP32; two of its kind are not
        last.bias[1] = 3e38
    before = [p.detach().clone() for p in run.model.parameters()]
    with pytest.raises(TrainingStopped) as stopped:
        reference.fit(run, 3)
    assert stopped.value.cause == "forward"
    assert run.history[-1]["taken"] is False
    assert all(torch.equal(a, b) for a, b in zip(before, run.model.parameters(), strict=True))
