"""Every configuration against mmasim 2.1.1, the model that came with arXiv 2511.10909.

mmasim has its own table of GPUs, so L, F, the exponent of zero and the rounding are compared as
well. It has no FP8 mma.sync of Hopper and Blackwell; there it does the two FP16 blocks and torch
the addition.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ampcourse.tensor_core import CONFIGURATIONS, Configuration, dot_product, mma
from tests.tensor_core.draws import KINDS, vectors
from tests.tensor_core.sums import label

torch = pytest.importorskip("torch", reason="mmasim computes with torch (the lab extra)")
pytest.importorskip("mmasim", reason="needs mmasim, the second oracle for Tensor Cores")

_PTX = {
    "fp16": "f16",
    "bf16": "bf16",
    "tf32": "tf32",
    "fp32": "f32",
    "e4m3": "e4m3",
    "e5m2": "e5m2",
}
_TORCH = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "tf32": torch.float32,
    "fp32": torch.float32,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}


@pytest.fixture(scope="module")
def sim() -> Any:
    """Return mmasim's table of instructions, without its FP64 part, which compiles C++."""
    fma = ModuleType("mmasim.arithmetic.fma")
    fma.MMA_FMA = None  # type: ignore[attr-defined]
    sys.modules.setdefault("mmasim.arithmetic.fma", fma)
    from mmasim.nv_ptx import sim as table

    return table


def shape_k(input_format: str) -> int:
    return {"fp16": 16, "bf16": 16, "tf32": 8}.get(input_format, 32)


def operation(sim: Any, rule: Configuration, input_format: str) -> Any:
    """Return mmasim's dot product of a configuration, perhaps with another input format."""
    out, inp, k = _PTX[rule.output_format], _PTX[input_format], shape_k(input_format)
    if rule.instruction == "wgmma":
        return sim.WGMMA(rule.generation, f"m64n8k{k}.{out}.{inp}.{inp}")
    if rule.instruction == "tcgen05":
        kind = {"fp16": "f16", "bf16": "f16", "tf32": "tf32"}.get(input_format, "f8f6f4")
        return sim.TCGen05MMA(rule.generation, f"m64n8k{k}.kind::{kind}.{out}.{inp}.{inp}")
    shape = {"Volta": "m8n8k4", "Turing": "m16n8k8"}.get(rule.generation, f"m16n8k{k}")
    return sim.MMA(rule.generation, f"{shape}.{out}.{inp}.{inp}.{out}")


def expected(
    sim: Any, rule: Configuration, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]
) -> NDArray[np.uint32]:
    """Return the codes, as float32, that mmasim gives."""
    inputs, output = _TORCH[rule.input_format], _TORCH[rule.output_format]
    with np.errstate(invalid="ignore"):  # a NaN
        A, B = (torch.from_numpy(x.astype(np.float32)).to(inputs) for x in (a, b))
    C = torch.from_numpy(c).to(output)
    if rule.emulated:
        D = C
        for start in range(0, a.shape[-1], 32):
            part = slice(start, start + 32)
            D = emulated(operation(sim, rule, "fp16"), A[:, part], B[:, part], D)
    else:
        D = operation(sim, rule, rule.input_format).dpa(A, B, C)
    # Not torch's .float(), which gives a NaN other bits at the end of an array.
    codes: NDArray[np.uint32] = D.numpy().astype(np.float32).view(np.uint32)
    if rule.emulated:  # torch's addition keeps payloads
        codes[D.isnan().numpy()] = 0x7FFFFFFF if rule.output_format == "fp32" else 0x7FFFE000
    return codes


def emulated(fp16: Any, A: Any, B: Any, C: Any) -> Any:
    order = [k for k in range(32) if k // 2 % 2 == 0] + [k for k in range(32) if k // 2 % 2 == 1]
    A, B = A.to(torch.float16)[:, order], B.to(torch.float16)[:, order]
    return fp16.dpa(A, B, torch.zeros_like(C)) + C


#: Infinities and NaN apart, because they make `mma` take its other path.
TOGETHER = [[kind for kind in KINDS if kind != "codes"], ["codes"]]


def check(sim: Any, rule: Configuration, count: int, blocks: int) -> None:
    """Compare `count` sums of each kind, all of this many blocks."""
    how = (rule.gpu, rule.input_format, rule.output_format, rule.instruction)
    for kinds in TOGETHER:
        rng = np.random.default_rng(CONFIGURATIONS.index(rule) + blocks)
        drawn = [vectors(rng, rule, count, blocks * rule.chunk, kind) for kind in kinds]
        a, b, c = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
        got = mma(a, b, c, *how)
        wrong = np.flatnonzero(got.view(np.uint32) != expected(sim, rule, a, b, c))
        assert not len(wrong), f"{len(wrong)} of {len(c)} sums differ, the first is {wrong[0]}"
        scalar = dot_product(a[-1].tolist(), b[-1].tolist(), float(c[-1]), *how)
        assert scalar == got[-1] or (np.isnan(scalar) and np.isnan(got[-1]))


@pytest.mark.parametrize("rule", CONFIGURATIONS, ids=label)
def test_equal_to_mmasim_on_1000_sums(sim: Any, rule: Configuration) -> None:
    check(sim, rule, 140, blocks=1)
    check(sim, rule, 60, blocks=3)


@pytest.mark.slow
@pytest.mark.parametrize("rule", CONFIGURATIONS, ids=label)
def test_equal_to_mmasim_on_100000_sums(sim: Any, rule: Configuration) -> None:
    check(sim, rule, 14_000, blocks=1)
    check(sim, rule, 6_000, blocks=3)
