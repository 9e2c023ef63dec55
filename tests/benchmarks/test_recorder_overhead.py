"""How much slower a training step is while its histograms are recorded; printed, not asserted."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the lab extra")

import torch

from ampcourse.dynamic_range import GradientRecorder
from ampcourse.training.models import small_cnn

pytestmark = pytest.mark.benchmark

ROUNDS = 60


def seconds(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def training_step() -> tuple[Any, Callable[[], None]]:
    torch.manual_seed(1)
    model = small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    images, labels = torch.randn(64, 1, 28, 28), torch.randint(10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return model, step


@pytest.mark.parametrize(
    "options",
    [{}, {"every": 10}, {"samples": 16384}, {"all_largest": True}, {"samples": None}],
    ids=["default", "every tenth step", "16384 samples", "all largest", "all values"],
)
def test_ratio_of_a_recorded_step_to_a_plain_one(options: dict[str, Any]) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model, step = training_step()
        plain, recorded = [], []
        recorder = GradientRecorder(model, **options)
        for _ in range(5):
            step()
        for _ in range(ROUNDS):  # taken in turns, so that both meet the same machine
            plain.append(seconds(step))
            with recorder:
                recorded.append(seconds(step))
    finally:
        torch.set_num_threads(threads)
    # Means of the recorded steps, since only some of them record with every=10; the slowest
    # tenth of both is left out, which is the machine's doing.
    kept = ROUNDS * 9 // 10
    if options.get("every"):
        ratio = statistics.fmean(sorted(recorded)[:kept]) / statistics.fmean(sorted(plain)[:kept])
    else:
        ratio = statistics.median(recorded) / statistics.median(plain)
    print(f"\n{statistics.median(plain) * 1e3:.1f} ms plain, recorded {ratio:.2f} times that")
    assert recorder.steps
