"""Lesson 13's ten lines on DeepSpeed's loss scale do what DeepSpeed's own scaler does."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

pytest.importorskip("jupytext", reason="needs the lab extra")

from ampcourse.courseware.course import find_course


@pytest.fixture
def rule() -> Callable[..., list[float]]:
    cells = [cell.text for cell in find_course().lesson("13_many_gpus").cells]
    names: dict[str, Any] = {}
    exec(next(text for text in cells if "def deepspeed_scales" in text), names)
    scales: Callable[..., list[float]] = names["deepspeed_scales"]
    return scales


@pytest.mark.parametrize("hysteresis", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 4, 7])
def test_the_rule_of_the_lesson_is_that_of_deepspeeds_scaler(
    rule: Callable[..., list[float]], monkeypatch: pytest.MonkeyPatch, hysteresis: int, window: int
) -> None:
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    theirs: Any = pytest.importorskip("deepspeed.runtime.fp16.loss_scaler", reason="no DeepSpeed")
    monkeypatch.setattr(theirs.dist, "get_rank", lambda: 0)
    random = Random(hysteresis * 100 + window)
    for _ in range(20):
        marks = "".join(random.choices("x.", (1, 6), k=80))
        scaler = theirs.DynamicLossScaler(2.0**60, window, 1.0, hysteresis, False)
        scales = []
        for mark in marks:
            scaler.update_scale(mark == "x")
            scales.append(scaler.cur_scale)
        assert rule(marks, hysteresis, 2.0**60, window) == scales
