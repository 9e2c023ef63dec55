"""What our autocast costs beside torch's, on a ResNet18.

    python -m pytest -m benchmark -s -n 0 tests/benchmarks/test_autocast_overhead.py

One process, one thread, the two taking turns, medians of CPU time. A batch of one small image, so
that the time between the ops counts: at 32 pixels, and at 8 pixels, where there is little else.
Printed, not asserted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from ampcourse.amp.autocast import autocast
from tests.benchmarks.machine import machine

torchvision = pytest.importorskip("torchvision", reason="needs torchvision (the lab extra)")

pytestmark = pytest.mark.benchmark

ROUNDS, WARM_UP, AIM = 25, 3, 1.5


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def medians(candidates: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median milliseconds of CPU time of each candidate."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(WARM_UP + ROUNDS):
        for name, call in candidates.items():
            start = time.process_time()
            call()
            times[name].append(1000 * (time.process_time() - start))
    return {name: statistics.median(taken[WARM_UP:]) for name, taken in times.items()}


@pytest.mark.parametrize("pixels", [32, 8])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "step"])
def test_overhead_on_resnet18(pixels: int, backward: bool) -> None:
    net = torchvision.models.resnet18(num_classes=10).eval()
    image, label = torch.randn(1, 3, pixels, pixels), torch.tensor([3])

    def candidate(region: Any) -> Callable[[], None]:
        def run() -> None:
            net.zero_grad()
            with region("cpu"):
                loss = torch.nn.functional.cross_entropy(net(image), label)
            if backward:
                loss.backward()

        return run

    found = medians({"torch": candidate(torch.autocast), "ours": candidate(autocast)})
    ratio = found["ours"] / found["torch"]
    work = "forward and backward" if backward else "forward"
    print(
        f"\nResNet18, {pixels} pixels, {work}, bfloat16: torch.autocast {found['torch']:.1f} ms, "
        f"ours {found['ours']:.1f} ms, {ratio:.2f} times (aim < {AIM}); {machine()}"
    )
