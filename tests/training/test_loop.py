"""The race is fair: same weights, same batches, the right arithmetic, the same number of steps."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
import torch

from ampcourse.training import loop
from ampcourse.training.data import FashionMnist, fashion_mnist
from ampcourse.training.loop import Run, race, to_tensors
from ampcourse.training.models import small_cnn


@pytest.fixture(scope="module")
def few() -> Any:
    data = fashion_mnist(use="subset")
    return FashionMnist(
        data.train_images[:60],
        data.train_labels[:60],
        data.test_images[:20],
        data.test_labels[:20],
        "a few",
    )


def test_model_has_the_parameters_its_layers_need() -> None:
    model = small_cnn(16)
    expected = (9 * 16 + 16) + (9 * 16 * 32 + 32) + (32 * 49 * 10 + 10)
    assert sum(p.numel() for p in model.parameters()) == expected
    assert model(torch.zeros(3, 1, 28, 28)).shape == (3, 10)


def test_recipes_start_from_the_same_weights_and_see_the_same_batches(few: Any) -> None:
    first, second = race(("fp32", "fp32"), few, batch=20, epochs=2, width=2)
    assert first.losses == second.losses
    assert len(first.losses) == 6


def test_race_repeats_and_leaves_the_global_generator_alone(few: Any) -> None:
    torch.manual_seed(1234)
    state = torch.random.get_rng_state()
    one = race(("fp32",), few, batch=20, epochs=1, width=2)[0]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert race(("fp32",), few, batch=20, epochs=1, width=2)[0].losses == one.losses


@pytest.mark.parametrize(
    ("recipe", "dtype"),
    [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)],
)
def test_convolutions_run_in_the_type_of_the_recipe(
    few: Any, monkeypatch: pytest.MonkeyPatch, recipe: Any, dtype: Any
) -> None:
    seen: set[torch.dtype] = set()
    real = torch.nn.Conv2d.forward

    def spy(self: Any, x: Any) -> Any:
        result = real(self, x)
        if torch.is_grad_enabled():
            seen.add(result.dtype)
        return result

    monkeypatch.setattr(torch.nn.Conv2d, "forward", spy)
    race((recipe,), few, batch=20, epochs=1, width=2)
    assert seen == {dtype}


def test_weights_stay_fp32_under_autocast(few: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[torch.dtype] = set()
    real = torch.optim.Adam.step

    def spy(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.update(p.dtype for group in self.param_groups for p in group["params"])
        return real(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    race(("bf16",), few, batch=20, epochs=1, width=2)
    assert seen == {torch.float32}


def test_recipes_take_turns_step_by_step(few: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real = loop._Training.step

    def spy(self: Any, *batch: Any) -> None:
        order.append(self.recipe)
        real(self, *batch)

    monkeypatch.setattr(loop._Training, "step", spy)
    race(("fp32", "bf16"), few, batch=30, epochs=1, width=2)
    assert order == ["fp32", "bf16", "fp32", "bf16"]


def test_only_fp16_scales_its_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    real = torch.amp.GradScaler

    def spy(*args: Any, **options: Any) -> Any:
        made.append(options)
        return real(*args, **options)

    monkeypatch.setattr(torch.amp, "GradScaler", spy)
    for recipe in ("fp32", "bf16", "fp16"):
        loop._Training(recipe, "cpu", 2, 1e-3, 0)
    assert made == [{"enabled": False}, {"enabled": False}, {"enabled": True}]


def test_clock_waits_for_a_gpu_and_for_nothing_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: calls.append("waited"))
    loop._wait("cpu")
    assert calls == []
    loop._wait("cuda")
    assert calls == ["waited"]


def test_training_lowers_the_loss(few: Any) -> None:
    run = race(("bf16",), few, batch=20, epochs=8, width=4)[0]
    assert sum(run.losses[-3:]) < 0.8 * sum(run.losses[:3])
    assert 0 <= run.accuracy <= 1


def test_when_time_is_up_all_recipes_have_made_the_same_number_of_steps(few: Any) -> None:
    runs = race(("fp32", "bf16"), few, batch=20, epochs=50, width=2, seconds=0)
    assert [run.steps for run in runs] == [1, 1]


def test_a_last_short_batch_is_dropped(few: Any) -> None:
    assert race(("fp32",), few, batch=25, epochs=1, width=2)[0].steps == 2


def test_step_time_is_the_median_without_the_warm_up() -> None:
    run = Run("fp32", "cpu", 1, (1.0,) * 6, (9.0, 9.0, 9.0, 0.001, 0.002, 0.1), 0.5)
    assert run.step_ms == 2.0


@pytest.mark.parametrize(("steps", "believable"), [(1, False), (7, False), (8, True)])
def test_fewer_than_five_steps_after_the_warm_up_are_not_believed(
    steps: int, believable: bool
) -> None:
    run = Run("fp32", "cpu", 1, (1.0,) * steps, (0.1,) * steps, 0.5)
    assert run.is_believable is believable


def test_time_for_the_evaluation_is_kept_free(few: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    def too_long(trainings: Any, batch: int, images: int) -> float:
        asked.append((len(trainings), batch, images))
        return 99.0

    monkeypatch.setattr(loop, "_evaluation_seconds", too_long)
    runs = race(("fp32", "bf16"), few, batch=20, epochs=50, width=2, seconds=60)
    assert [run.steps for run in runs] == [1, 1]
    assert asked == [(2, 20, 20)]


def test_evaluation_is_reckoned_as_half_a_step_of_the_fastest_recipe_per_batch() -> None:
    fast, slow = (loop._Training("fp32", "cpu", 2, 1e-3, 0) for _ in range(2))
    fast.step_seconds, slow.step_seconds = [9.0, 0.2], [9.0, 1.0]
    assert math.isclose(loop._evaluation_seconds([fast, slow], 32, 1000), 2 * 32 * 0.1)


def test_time_runs_from_the_call_not_from_the_first_step(
    few: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loop._Training.__init__

    def slow(self: Any, *args: Any) -> None:
        real(self, *args)
        time.sleep(0.3)

    monkeypatch.setattr(loop._Training, "__init__", slow)
    assert race(("fp32",), few, batch=20, epochs=50, width=2, seconds=0.2)[0].steps == 1


def test_accuracy_counts_every_test_image_once(few: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "small_cnn", lambda width: AlwaysFirst())
    share = (few.test_labels == 0).mean()
    assert 0 < share < 1
    for batch in (3, 20, 60):
        assert math.isclose(race(("fp32",), few, batch=batch)[0].accuracy, share, rel_tol=1e-6)


class AlwaysFirst(torch.nn.Linear):
    """A network that finds class 0 in every image, whatever it learns."""

    def __init__(self) -> None:
        super().__init__(1, 1)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(len(input), 10)
        scores[:, 0] = 1
        return scores + 0 * self.weight.sum()


def test_images_are_normalised_to_about_mean_0_and_deviation_1() -> None:
    data = fashion_mnist(use="subset")
    x, y = to_tensors(data.train_images, data.train_labels, "cpu")
    assert x.shape == (2000, 1, 28, 28)
    assert x.dtype == torch.float32
    assert y.dtype == torch.int64
    assert math.isclose(x.mean().item(), 0, abs_tol=0.05)
    assert math.isclose(x.std().item(), 1, abs_tol=0.05)


def test_unknown_recipe_and_impossible_batch_are_refused(few: Any) -> None:
    with pytest.raises(ValueError, match="'fp8' is unknown; choose from fp32, bf16, fp16"):
        race(("fp8",), few)
    for batch in (0, 61, np.iinfo(np.int32).max):
        with pytest.raises(ValueError, match=f"batch={batch} must be between 1 and 60"):
            race(("fp32",), few, batch=int(batch))
