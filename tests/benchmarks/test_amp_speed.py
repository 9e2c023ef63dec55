"""What unscaling and master weights cost, as ratios to torch on the parameters of a ResNet50.

    python -m pytest -m benchmark -s -n 0 tests/benchmarks/test_amp_speed.py

One process, one thread, the candidates taking turns, medians of the CPU time that each call took
(with one thread it is the time on an idle machine, and other processes disturb it less). Printed,
not asserted.

Beside the ratio for master weights stands the one that memory traffic alone would give, with
every pass over the parameters counted as reading and writing memory, and a line that is written
without having been read counted twice (the cache fetches it first). In bytes per parameter:

    SGD, FP32             weight -= lr * gradient: 4 + 4 read, 4 written           12
    momentum, in addition buffer *= 0.9: 4 read, 4 written;
                          buffer += gradient: 4 + 4 read, 4 written                20
    momentum, fused       weight, gradient, buffer read, weight, buffer written    20
    master weights add    gradient to FP32: 2 read, 4 fetched, 4 written;
                          master to FP16: 4 read, 2 fetched, 2 written             18
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from ampcourse.amp.master_weights import MasterWeights
from ampcourse.amp.unscaling import unscale_
from tests.benchmarks.machine import machine

torchvision = pytest.importorskip("torchvision", reason="needs torchvision (the lab extra)")

pytestmark = pytest.mark.benchmark

ROUNDS, WARM_UP = 15, 2
UNSCALE_AIM, MASTER_AIM = 1.5, 1.4
INVERSE = 1 - 2.0**-24  # multiplied thousands of times, gradients stay ordinary numbers


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def shapes() -> list[torch.Size]:
    """Return the shapes of ResNet50's 161 parameters."""
    with torch.device("meta"):
        found = [param.shape for param in torchvision.models.resnet50().parameters()]
    assert len(found) == 161
    return found


def taking_turns(candidates: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median milliseconds of each candidate."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(WARM_UP + ROUNDS):
        for name, call in candidates.items():
            start = time.process_time()
            call()
            times[name].append(1000 * (time.process_time() - start))
    return {name: statistics.median(taken[WARM_UP:]) for name, taken in times.items()}


def test_unscaling_and_checking_resnet50s_gradients() -> None:
    gradients = [torch.randn(shape) for shape in shapes()]
    found_inf, inverse = torch.zeros(()), torch.tensor(INVERSE)

    def by_torch() -> None:
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inverse)

    def textbook() -> bool:
        for gradient in gradients:
            gradient.mul_(INVERSE)
        return all(gradient.isfinite().all() for gradient in gradients)

    times = taking_turns(
        {"torch": by_torch, "ours": lambda: unscale_(gradients, INVERSE), "isfinite loop": textbook}
    )
    print(f"\nunscale and check, ResNet50's 161 gradients; {machine()}")
    for name, taken in times.items():
        aim = f" (aim {UNSCALE_AIM})" if name == "ours" else ""
        print(f"  {name:14} {taken:6.1f} ms  {taken / times['torch']:5.2f} x torch{aim}")


def stepper(dtype: torch.dtype, **options: Any) -> Callable[[], None]:
    """Return a call that sets the gradients and steps, with master weights for 16 bits."""
    params = [nn.Parameter(torch.randn(shape).to(dtype)) for shape in shapes()]
    gradients = [torch.randn_like(param) for param in params]
    sgd = torch.optim.SGD(params, lr=1e-3, **options)
    optimizer = sgd if dtype == torch.float32 else MasterWeights(sgd)

    def step() -> None:
        for param, gradient in zip(params, gradients, strict=True):
            param.grad = gradient
        optimizer.step()

    return step


@pytest.mark.parametrize(("momentum", "traffic", "fused"), [(0.9, 32, 20), (0.0, 12, 12)])
def test_a_step_with_master_weights(momentum: float, traffic: int, fused: int) -> None:
    half, single = torch.float16, torch.float32
    bounds = {
        "FP32 foreach": traffic,
        "FP32 fused": fused,
        "FP16 + masters, foreach": traffic + 18,
        "FP16 + masters, default": traffic + 18,
        "FP16 + masters, fused": fused + 18,
    }
    calls = (
        stepper(single, momentum=momentum, foreach=True),
        stepper(single, momentum=momentum, fused=True),
        stepper(half, momentum=momentum, foreach=True),
        stepper(half, momentum=momentum),
        stepper(half, momentum=momentum, fused=True),
    )
    times = taking_turns(dict(zip(bounds, calls, strict=True)))
    print(f"\nSGD step, momentum {momentum}, ResNet50; {machine()}")
    for name, taken in times.items():
        ratio = taken / times["FP32 foreach"]
        aim = f" (aim {MASTER_AIM})" if momentum and name.endswith("masters, fused") else ""
        print(
            f"  {name:24} {taken:6.1f} ms  {ratio:5.2f} x FP32 foreach{aim}, "
            f"from traffic {bounds[name] / traffic:.2f} ({bounds[name]} bytes per parameter)"
        )
