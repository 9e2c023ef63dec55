"""A stand-in for torch.cuda whose tensors lie on the CPU: memory and clocks as the test says."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import torch

from ampcourse.benchmark.machine import CudaMachine


class FakeEvent:
    """A CUDA event that happens when it is recorded."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.timed = enable_timing
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: FakeEvent) -> float:
        assert self.timed
        assert end.timed
        return 1000 * (end.at - self.at)


class FakeCuda:
    """What CudaMachine asks of torch.cuda.

    `device_s` is how long the device works on after the host has issued its work: synchronize
    waits for it. `peaks` are given out one by one as peaks of allocated memory.
    """

    tensors = torch.device("cpu")
    Event = FakeEvent

    def __init__(self, name: str = "NVIDIA H200", count: int = 1, available: bool = True) -> None:
        self.name, self.count, self.available = name, count, available
        self.device_s = 0.0
        self.allocated, self.reserved = 100, 200
        self.peak_allocated, self.peak_reserved = 1100, 2200
        self.free, self.total = 8 * 2**30, 16 * 2**30
        self.calls: list[str] = []

    def is_available(self) -> bool:
        return self.available

    def device_count(self) -> int:
        return self.count

    def set_device(self, index: int) -> None:
        self.calls.append(f"set_device {index}")

    def get_device_name(self, index: int) -> str:
        return self.name

    def get_device_capability(self, index: int) -> tuple[int, int]:
        return 9, 0

    def get_device_properties(self, index: int) -> Any:
        return SimpleNamespace(uuid="0000")

    def synchronize(self, index: int) -> None:
        self.calls.append("synchronize")
        time.sleep(self.device_s)

    def memory_allocated(self, index: int) -> int:
        return self.allocated

    def memory_reserved(self, index: int) -> int:
        return self.reserved

    def max_memory_allocated(self, index: int) -> int:
        return self.peak_allocated

    def max_memory_reserved(self, index: int) -> int:
        return self.peak_reserved

    def reset_peak_memory_stats(self, index: int) -> None:
        self.calls.append("reset_peak")

    def empty_cache(self) -> None:
        self.calls.append("empty_cache")

    def mem_get_info(self, index: int) -> tuple[int, int]:
        return self.free, self.total


def fake_machine(cuda: FakeCuda | None = None) -> CudaMachine:
    """Return a GPU that computes on the CPU."""
    cuda = cuda or FakeCuda()
    return CudaMachine(0, cuda, cuda.tensors)
