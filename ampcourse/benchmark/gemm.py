"""Matrix products by type of number: how near a device comes to the peak it is sold with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ampcourse.benchmark.context import Context
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.plans import Gemm
from ampcourse.benchmark.rows import Row

#: Type → the type of the factors, and how FP32 factors are multiplied.
TYPES = {
    "fp32": (torch.float32, "ieee"),
    "tf32": (torch.float32, "tf32"),
    "fp16": (torch.float16, "ieee"),
    "bf16": (torch.bfloat16, "ieee"),
}


def gemm(part: Gemm, context: Context) -> Iterator[Row]:
    """Yield a row for each type and size; n x n factors, random, result of the factors' type."""
    for name in part.types:
        if name not in TYPES:
            raise ValueError(f"type {name!r} is unknown; choose from {', '.join(TYPES)}")
        for n in part.sizes:
            clocks = context.machine.clocks()
            try:
                rate = tflops(n, name, context.machine, part.seconds)
            except Exception as error:
                fields = {"m": n, "n": n, "k": n, "type": name}
                yield context.failure("gemm", error, None, None, clocks_before=clocks, **fields)
            else:
                yield context.row(
                    "gemm", "ok", clocks_before=clocks, **_fields(n, name, rate, context)
                )
            context.progress(1)


def tflops(n: int, name: str, machine: Machine, seconds: float = 0.1) -> float:
    """Return the rate of n x n products of a type, a multiply-add counted as two operations.

    The best of three spans of about `seconds` each, after a warm-up.
    """
    dtype, matmul = TYPES[name]
    # Random: on zeros a GPU draws less power and clocks higher.
    a, b = (torch.randn(n, n, device=machine.device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    before = machine.tf32()
    machine.set_tf32(matmul, before["conv"])
    try:
        machine.seconds(lambda: torch.mm(a, b, out=out))
        once = machine.seconds(lambda: torch.mm(a, b, out=out))
        repeats = max(1, min(1000, round(seconds / max(once, 1e-9))))

        def run() -> None:
            for _ in range(repeats):
                torch.mm(a, b, out=out)

        best = min(machine.seconds(run) for _ in range(3)) / repeats
    finally:
        machine.set_tf32(**before)
    return float(2 * n**3 / best / 1e12)


def _fields(n: int, name: str, rate: float, context: Context) -> dict[str, Any]:
    peaks = context.device.peaks if context.device is not None else {}
    peak = peaks.get(name)
    return {
        "m": n,
        "n": n,
        "k": n,
        "type": name,
        "tflops": rate,
        "peak_tflops": peak,
        "share_of_peak": None if peak is None else rate / peak,
    }
