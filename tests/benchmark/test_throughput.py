"""Throughput: turns in random order, ratios by round, honest marks, faults that cost one row."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pytest
import torch

from ampcourse.benchmark import throughput as module
from ampcourse.benchmark.context import Context
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.plans import Task, Throughput
from ampcourse.benchmark.recipes import parse
from ampcourse.benchmark.steps import Step
from ampcourse.benchmark.throughput import interval, issue_seconds, throughput
from tests.benchmark.fake_cuda import FakeCuda, fake_machine

TASK = Task("tiny", "3x3", 12, 8, "synthetic")
RECIPES = ("fp32", "amp-bf16", "fp32+nhwc")


def context(machine: Machine | None = None, seconds: float = 600.0) -> Context:
    said: list[str] = []
    machine = machine or Machine()
    deadline = time.perf_counter() + seconds
    made = Context(machine, "test", deadline, peaks_s=0.0, say=said.append)
    made.said = said  # type: ignore[attr-defined]
    return made


def rows(part: Throughput, of: Context) -> list[dict[str, Any]]:
    return list(throughput(part, of))


def part(*recipes: str, rounds: int = 4, **more: Any) -> Throughput:
    given = {"turn_s": 0.0, "warm_up": 1, **more}
    return Throughput(TASK, recipes or RECIPES, rounds, **given)


class Turns:
    """Records whose turn it is, and says how long a turn took instead of measuring it."""

    def __init__(self, seconds: Callable[[str, int], float]) -> None:
        self.order: list[str] = []
        self.seconds = seconds

    def __call__(self, contender: module.Contender, steps: int) -> float:
        name = contender.recipe.name
        done = self.order.count(name)
        self.order.append(name)
        contender.loss = 1.0
        return self.seconds(name, done)


def test_rows_have_figures_that_follow_from_their_rounds() -> None:
    found = rows(part(), context())
    assert [row["recipe"] for row in found] == list(RECIPES)
    base = found[0]["step_s"]
    for row in found:
        assert row["status"] == "ok"
        assert row["rounds"] == len(row["step_s"]) == 4
        assert row["images_per_s"] == TASK.batch / median(row["step_s"])
        ratios = [a / b for a, b in zip(base, row["step_s"], strict=True)]
        assert row["ratio"] == median(ratios)
        assert row["baseline"] == "fp32"
        assert np.isfinite(row["loss"])
        assert row["data"]["name"] == "synthetic"
    assert found[0]["ratio"] == 1.0
    assert found[0]["ratio_interval"] == [1.0, 1.0]


def test_each_round_has_each_recipe_once_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(lambda name, done: 0.1)
    monkeypatch.setattr(module, "_turn", turns)
    rows(part(rounds=12), context())
    orders = [tuple(turns.order[i : i + 3]) for i in range(0, 36, 3)]
    assert all(sorted(order) == sorted(RECIPES) for order in orders)
    assert len(set(orders)) > 3


def test_a_machine_that_slows_down_between_rounds_does_not_change_the_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"fp32": 0.3, "amp-bf16": 0.1, "fp32+nhwc": 0.2}
    monkeypatch.setattr(module, "_turn", Turns(lambda name, done: own[name] * 2**done))
    found = {row["recipe"]: row for row in rows(part(), context())}
    assert found["amp-bf16"]["ratio"] == pytest.approx(3, rel=1e-15)
    low, high = found["amp-bf16"]["ratio_interval"]
    assert high - low < 1e-12


def test_the_interval_is_that_of_scipys_bootstrap() -> None:
    stats = pytest.importorskip("scipy.stats", reason="needs scipy (with scikit-learn)")
    ratios = np.random.default_rng(3).normal(2.0, 0.1, 15)
    low, high = interval(list(ratios)) or (0, 0)
    theirs = stats.bootstrap(
        (ratios,), np.median, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    # Medians of 15 numbers take few values: the ends are equal or next to each other.
    steps = np.diff(np.sort(ratios)).max()
    assert abs(low - theirs.low) <= steps
    assert abs(high - theirs.high) <= steps
    assert interval([1.0, 2.0]) is None


def test_the_interval_holds_the_true_median_about_95_times_in_100() -> None:
    random = np.random.default_rng(0)
    held = 0
    for trial in range(300):
        low, high = interval(list(random.normal(2.0, 0.1, 21)), trial, 500) or (0, 0)
        held += low <= 2.0 <= high
    # 300 trials at 95 %: 3.8 standard deviations of the count on either side.
    assert 0.90 <= held / 300 <= 0.99


def test_a_diverged_loss_ends_that_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Step.step

    def step(self: Step, images: Any, labels: Any, between: Any = None) -> torch.Tensor:
        loss = plain(self, images, labels, between)
        return loss * torch.nan if self.recipe.base == "amp-bf16" else loss

    monkeypatch.setattr(Step, "step", step)
    found = {row["recipe"]: row for row in rows(part(), context())}
    assert found["amp-bf16"]["status"] == "failed"
    assert "the loss became nan" in found["amp-bf16"]["message"]
    assert found["fp32"]["status"] == found["fp32+nhwc"]["status"] == "ok"


def test_a_recipe_that_fails_in_a_round_ends_alone_and_ratios_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def seconds(name: str, done: int) -> float:
        if name == "amp-bf16" and done == 1:
            raise RuntimeError("a kernel went wrong\nin two lines")
        return 0.25

    monkeypatch.setattr(module, "_turn", Turns(seconds))
    found = {row["recipe"]: row for row in rows(part(), context())}
    assert found["amp-bf16"]["status"] == "failed"
    assert found["amp-bf16"]["message"] == "RuntimeError: a kernel went wrong"
    assert found["fp32+nhwc"]["rounds"] == 4


def no_memory_above(monkeypatch: pytest.MonkeyPatch, most: int, base: str = "") -> None:
    """Let steps of a base, or all, run out of memory above a batch."""
    plain = Step.step

    def step(self: Step, images: Any, labels: Any, between: Any = None) -> torch.Tensor:
        if len(images) > most and base in ("", self.recipe.base):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return plain(self, images, labels, between)

    monkeypatch.setattr(Step, "step", step)


def test_without_memory_for_the_baseline_the_batch_is_halved_for_all_and_said_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_memory_above(monkeypatch, 2)
    of = context(fake_machine())
    found = rows(part(), of)
    assert {row["batch"] for row in found} == {2}
    assert {row["status"] for row in found} == {"ok"}
    assert any("too little memory for a batch of 8" in text for text in of.said)  # type: ignore[attr-defined]


def test_without_memory_for_another_recipe_that_row_ends_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_memory_above(monkeypatch, 2, "amp-bf16")
    found = {row["recipe"]: row for row in rows(part(), context(fake_machine()))}
    assert found["amp-bf16"]["status"] == "out_of_memory"
    assert found["fp32"]["batch"] == found["fp32+nhwc"]["batch"] == 8
    assert found["fp32"]["status"] == found["fp32+nhwc"]["status"] == "ok"


def test_without_memory_for_one_image_all_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    no_memory_above(monkeypatch, 0)
    found = rows(part(), context(fake_machine()))
    assert [row["status"] for row in found] == ["out_of_memory"] * 3


def test_interrupted_rounds_are_rows_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(name: str, done: int) -> float:
        if done == 3 and name == "amp-bf16":
            raise KeyboardInterrupt
        return 0.5

    monkeypatch.setattr(module, "_turn", Turns(seconds))
    found: list[dict[str, Any]] = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(iter_rows(throughput(part(), context()), found))
    assert [row["status"] for row in found] == ["interrupted"] * 3
    assert {row["rounds"] for row in found} == {3}
    assert {row["images_per_s"] for row in found} == {16.0}


def iter_rows(source: Any, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in source:
        found.append(row)
    return []


def test_out_of_time_the_rounds_stop_but_not_before_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_turn", Turns(lambda name, done: 0.5))
    of = context()

    def over(seconds: float = 0.0) -> bool:
        return bool(module_rounds(of))

    def module_rounds(of: Context) -> int:
        return int(of.progressed >= len(RECIPES))  # type: ignore[attr-defined]

    of.progressed = 0  # type: ignore[attr-defined]

    def progress(steps: int) -> None:
        of.progressed += steps  # type: ignore[attr-defined]

    of.progress = progress
    monkeypatch.setattr(of, "over", over)
    found = rows(part(rounds=9), of)
    assert {row["rounds"] for row in found} == {3}
    assert {row["status"] for row in found} == {"ok"}


def test_out_of_time_before_the_start_each_recipe_is_left_out_with_a_row() -> None:
    found = rows(part(), context(seconds=-1))
    assert [row["status"] for row in found] == ["skipped"] * 3
    assert all("left out" in row["message"] for row in found)


def test_a_recipe_to_compile_is_left_out_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = {row["recipe"]: row for row in rows(part("fp32", "fp32+compile"), context())}
    assert found["fp32+compile"]["status"] == "skipped"
    assert "needs a compiler for C++" in found["fp32+compile"]["message"]
    assert found["fp32"]["status"] == "ok"


def test_a_recipe_to_compile_is_left_out_where_time_is_short() -> None:
    found = rows(part("fp32", "fp32+compile", compile_s=1e6), context())
    assert {row["recipe"]: row["status"] for row in found} == {
        "fp32": "ok",
        "fp32+compile": "skipped",
    }


@pytest.mark.parametrize(
    ("issue", "bound"), [(0.0005, False), (0.0089, False), (0.0091, True), (0.0102, True)]
)
def test_a_row_is_host_bound_from_nine_tenths_of_its_step_on(
    issue: float, bound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "issue_seconds", lambda *_: issue)
    monkeypatch.setattr(module, "_turn", Turns(lambda name, done: 0.01))
    [row] = rows(part("fp32", rounds=3), context(fake_machine()))
    assert row["issue_share"] == issue / 0.01
    assert row["host_bound"] == bound


@pytest.mark.parametrize("recipe", ["fp32", "amp-fp16", "amp-fp16-ours", "O1", "O2"])
def test_the_time_to_issue_a_step_leaves_out_the_wait_for_the_device(recipe: str) -> None:
    cuda = FakeCuda()
    of = context(fake_machine(cuda))
    step = of.step(parse(recipe), TASK, 1e-3)
    images, labels = of.batch(step.recipe, TASK, 8)
    with step.active():
        for _ in range(3):
            step.step(images, labels)
        cuda.calls.clear()
        cuda.device_s = 0.5
        begin = time.perf_counter()
        issued = issue_seconds(step, images, labels)
        whole = time.perf_counter() - begin
    assert cuda.calls.count("synchronize") == 2
    # Two waits of 0.5 s at least: what is left is at most the rest.
    assert issued <= whole - 1.0


def test_on_a_cpu_nothing_is_host_bound_and_memory_is_unknown() -> None:
    [row, *_] = rows(part(), context())
    assert (row["issue_share"], row["host_bound"], row["peak_allocated"]) == (None, False, None)


def test_peak_memory_is_that_of_the_recipe_without_the_other_models() -> None:
    [row, *_] = rows(part(), context(fake_machine()))
    assert (row["peak_allocated"], row["peak_reserved"]) == (1000, 2000)


def test_the_kernel_search_is_over_before_the_peak_is_taken() -> None:
    cuda = FakeCuda()
    rows(part("fp32"), context(fake_machine(cuda)))
    reset = cuda.calls.index("reset_peak")
    assert cuda.calls[reset - 1] == "empty_cache"
    assert torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = False


def test_gradients_of_one_recipe_are_gone_in_the_others_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    plain = module._turn

    def turn(contender: module.Contender, steps: int) -> float:
        seconds = plain(contender, steps)
        seen.append(sum(p.grad is not None for p in contender.step.model.parameters()))
        return seconds

    monkeypatch.setattr(module, "_turn", turn)
    rows(part(rounds=3), context())
    assert seen == [0] * 9


def test_a_known_gpu_has_its_limit_in_the_row_and_an_unknown_one_none() -> None:
    [known] = rows(part("fp32", rounds=3), context(fake_machine()))
    assert known["roofline_images_per_s"] > 0
    assert known["machine"]["peaks"]["name"] == "H200"
    [unknown] = rows(part("fp32", rounds=3), context(fake_machine(FakeCuda("GeForce 9999"))))
    assert unknown["roofline_images_per_s"] is None
    assert unknown["machine"]["peaks"] is None


@pytest.mark.parametrize(
    ("recipe", "says"), [("amp-fp16", "FP16 on a CPU"), ("tf32", "no TF32"), ("fp32", "")]
)
def test_a_recipe_that_a_cpu_is_not_made_for_works_and_says_so(recipe: str, says: str) -> None:
    [row] = rows(part(recipe, rounds=3), context())
    assert row["status"] == "ok"
    assert (says in row["message"]) if says else row["message"] == ""
