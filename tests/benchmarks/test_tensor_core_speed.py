"""How fast the array twin is: beside a plain loop, beside mmasim, and in GFLOP/s.

    OMP_NUM_THREADS=1 python -m pytest -m benchmark -s tests/benchmarks/test_tensor_core_speed.py

The aims for 256 x 256 x 256 on one core are about 1 GFLOP/s on the V100 model, 250 times a loop
of Python floats over the same rule, and 10 times mmasim. All take turns in one process and are
timed in its CPU seconds, of which the best round counts, so that the ratios mean something on a
busy machine. Printed, not asserted.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ampcourse.tensor_core import configuration, gemm, mma
from tests.benchmarks.machine import machine

pytestmark = pytest.mark.benchmark

N, ROUNDS = 256, 5
LOOP_SUMS, SIM_ROWS = 32, 8


def operands() -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, N)).astype(np.float16), rng.standard_normal((N, N)).astype(
        np.float16
    )


def plain_loop(a: list[float], b: list[float], length: int, bits: int) -> float:
    """Do what `gemm` does for one element with Python's floats; normal operands, fp32 output."""
    c = 0.0
    for start in range(0, len(a), length):
        terms = [(c, math.frexp(c)[1] - 1 if c else -131)]
        for x, y in zip(a[start : start + length], b[start : start + length], strict=True):
            terms.append((x * y, math.frexp(x)[1] + math.frexp(y)[1] - 2))
        scale = 2.0 ** (bits - max(exponent for _, exponent in terms))
        c = sum(math.trunc(value * scale) for value, _ in terms) / scale
        significand, exponent = math.frexp(c)
        c = math.ldexp(math.trunc(significand * 2.0**24), exponent - 24)
    return c


def mmasim_rows(gpu: str, A: NDArray[Any], B: NDArray[Any]) -> Callable[[], Any]:
    """Return the first rows of the same product by mmasim, with torch on one thread."""
    torch = pytest.importorskip("torch", reason="mmasim computes with torch")
    pytest.importorskip("mmasim", reason="needs mmasim")
    torch.set_num_threads(1)
    fma = ModuleType("mmasim.arithmetic.fma")
    fma.MMA_FMA = None  # type: ignore[attr-defined]
    sys.modules.setdefault("mmasim.arithmetic.fma", fma)
    from mmasim.nv_ptx import sim

    shape = {"V100": "m8n8k4"}.get(gpu, "m16n8k16")
    rule = sim.MMA(configuration(gpu).generation, f"{shape}.f32.f16.f16.f32")
    left, right = torch.from_numpy(A[:SIM_ROWS]), torch.from_numpy(B)
    start = torch.zeros(SIM_ROWS, N)
    return lambda: rule(left, right, start).numpy()


def best(*calls: Callable[[], Any]) -> list[float]:
    """Return the least CPU seconds of each call, taking turns."""
    times = [math.inf] * len(calls)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            start = time.process_time()
            call()
            times[i] = min(times[i], time.process_time() - start)
    return times


@pytest.mark.parametrize("gpu", ["V100", "A100", "H100"])
def test_gemm_beside_a_plain_loop_and_mmasim(gpu: str) -> None:
    A, B = operands()
    rule = configuration(gpu)
    rows, columns = A.astype(float).tolist(), B.T.astype(float).tolist()

    def loop() -> list[float]:
        sums = columns[:LOOP_SUMS]
        return [
            plain_loop(rows[0], column, rule.block_length, rule.fraction_bits) for column in sums
        ]

    sim = mmasim_rows(gpu, A, B)
    D = gemm(A, B, gpu=gpu)
    assert D[0, :LOOP_SUMS].tolist() == loop()
    assert np.array_equal(D[:SIM_ROWS], sim())
    ours, plain, theirs = best(lambda: gemm(A, B, gpu=gpu), loop, sim)
    per_product = ours / N**3, plain / (LOOP_SUMS * N), theirs / (SIM_ROWS * N**2)
    loop_ratio, sim_ratio = (x / per_product[0] for x in per_product[1:])
    print(
        f"\n{gpu}: gemm {N}^3 {2e-9 / per_product[0]:.2f} GFLOP/s (aim on V100: about 1), "
        f"{loop_ratio:.0f} times a plain loop (aim 250), {sim_ratio:.1f} times mmasim (aim 10); "
        f"{machine()}"
    )


@pytest.mark.parametrize("fmt", ["bf16", "tf32", "e4m3"])
def test_gemm_with_other_formats(fmt: str) -> None:
    rng = np.random.default_rng(1)
    A, B = (rng.integers(-8, 9, (N, N)) / 8 for _ in "AB")
    (seconds,) = best(lambda: gemm(A, B, input_format=fmt))
    print(f"\nH100 {fmt}: gemm {N}^3 {2 * N**3 / seconds / 1e9:.2f} GFLOP/s; {machine()}")


def test_mma_of_many_vectors() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((20_000, 64)).astype(np.float16) for _ in "ab")
    (seconds,) = best(lambda: mma(a, b, gpu="V100"))
    print(f"\nV100: mma of 20,000 x 64 {2 * a.size / seconds / 1e9:.2f} GFLOP/s; {machine()}")
