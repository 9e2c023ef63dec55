"""Matrix products: the rate counts what was multiplied, in the type that the row says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ampcourse.benchmark import gemm as module
from ampcourse.benchmark.context import Context
from ampcourse.benchmark.gemm import gemm, tflops
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.plans import Gemm
from tests.benchmark.fake_cuda import FakeCuda, fake_machine


def context(machine: Machine) -> Context:
    return Context(machine, "test", time.perf_counter() + 600, peaks_s=0.0)


class Counting(Machine):
    """A machine on which each product takes a millisecond; it notes types and TF32."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.products = 0
        self.seen: set[tuple[Any, str]] = set()
        plain = torch.mm

        def mm(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
            self.products += 1
            self.seen.add((a.dtype, self.tf32()["matmul"]))
            return plain(a, b, out=out)

        monkeypatch.setattr(torch, "mm", mm)

    def seconds(self, run: Callable[[], object]) -> float:
        before = self.products
        run()
        return (self.products - before) / 1000


def test_a_multiply_add_counts_as_two_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    # 100 x 100 x 100 multiply-adds a millisecond: 2e6 operations / 1e-3 s.
    assert tflops(100, "fp32", Counting(monkeypatch), 0.01) == pytest.approx(0.002, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "dtype", "matmul"),
    [
        ("fp32", torch.float32, "ieee"),
        ("tf32", torch.float32, "tf32"),
        ("fp16", torch.float16, "ieee"),
        ("bf16", torch.bfloat16, "ieee"),
    ],
)
def test_each_type_is_multiplied_as_it_says_and_tf32_is_put_back(
    name: str, dtype: torch.dtype, matmul: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Counting(monkeypatch)
    before = machine.tf32()
    tflops(8, name, machine, 0.002)
    assert machine.seen == {(dtype, matmul)}
    assert machine.tf32() == before


def test_rows_stand_against_the_quoted_peak_of_a_known_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "tflops", lambda *_: 98.9)
    found = list(gemm(Gemm((16, 32), ("fp32", "tf32", "fp16", "bf16")), context(fake_machine())))
    assert [(row["type"], row["m"], row["n"], row["k"]) for row in found][:2] == [
        ("fp32", 16, 16, 16),
        ("fp32", 32, 32, 32),
    ]
    by_type = {row["type"]: row for row in found}
    assert by_type["fp16"]["peak_tflops"] == 989
    assert by_type["fp16"]["share_of_peak"] == 98.9 / 989
    assert by_type["tf32"]["peak_tflops"] == 495
    [unknown] = gemm(Gemm((16,), ("fp16",)), context(fake_machine(FakeCuda("GeForce 9999"))))
    assert (unknown["peak_tflops"], unknown["share_of_peak"]) == (None, None)


def test_a_product_that_fails_ends_its_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def rate(n: int, name: str, *_: Any) -> float:
        if n == 32:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return 1.0

    monkeypatch.setattr(module, "tflops", rate)
    found = list(gemm(Gemm((16, 32, 64), ("fp32",)), context(fake_machine())))
    assert [row["status"] for row in found] == ["ok", "out_of_memory", "ok"]
    assert found[1]["n"] == 32


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="type 'fp8' is unknown; choose from fp32, tf32"):
        list(gemm(Gemm((16,), ("fp8",)), context(Machine())))
