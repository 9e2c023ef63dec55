"""Where a peak comes from: SMs x cores x multiply-adds per clock x 2 x clock.

Counts and clocks are the product's, not the full chip's: a V100 has 80 of GV100's 84 SMs. Each
Tensor Core of Volta does a 4x4x4 product per clock, 64 multiply-adds; later ones do more. Peaks
are dense: data sheets that print twice as much count 2:4 sparsity.

Sources, as quoted: NVIDIA's data sheets and architecture white papers for V100, T4, A100, H100
and Ada. Counts and clocks were read in third parties' copies of them. The multiply-adds per
clock and Tensor Core of T4, RTX 4090 and H100 are inferred: they are the powers of two that give
the quoted peaks (GeForce cards run FP16 with FP32 accumulation at half rate).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType


@dataclass(frozen=True)
class Gpu:
    """A product: how many units it has, how fast they run, and what its data sheet says.

    >>> v100 = GPUS["V100"]
    >>> v100.sms * v100.tensor_cores_per_sm, v100.fma_per_clock["fp16"]
    (640, 64)
    """

    name: str
    generation: str
    sms: int
    #: SMs of the full chip, of which products have some switched off; None where not looked up.
    chip_sms: int | None
    #: Each does one multiply-add per clock.
    fp32_cores_per_sm: int
    tensor_cores_per_sm: int
    #: Multiply-adds per clock of one Tensor Core by input format, FP32 accumulation, dense.
    fma_per_clock: Mapping[str, int]
    #: Boost clocks in GHz; Hopper's Tensor Cores boost lower.
    core_clock: float
    tensor_clock: float
    #: Memory bandwidth in GB/s, as quoted.
    bandwidth: float
    #: Dense peaks in TFLOP/s by format, as quoted.
    quoted: Mapping[str, float]

    def __post_init__(self) -> None:
        for field in ("fma_per_clock", "quoted"):  # frozen, what they map to as well
            object.__setattr__(self, field, MappingProxyType(dict(getattr(self, field))))


def peak_tflops(gpu: str | Gpu, fmt: str) -> float:
    """Return the peak in TFLOP/s: units x multiply-adds per clock x 2 x clock.

    ``fp32`` runs on the FP32 cores, every other format on the Tensor Cores. Raises ValueError
    for an unknown GPU or a format it has no Tensor Core for.

    >>> round(peak_tflops("V100", "fp16"), 1)  # 80 x 8 x 64 x 2 x 1.53 GHz
    125.3
    >>> round(peak_tflops("V100", "fp32"), 1)  # 80 x 64 x 1 x 2 x 1.53 GHz
    15.7
    """
    gpu = find_gpu(gpu)
    if fmt == "fp32":
        per_clock, clock = gpu.sms * gpu.fp32_cores_per_sm, gpu.core_clock
    elif fmt in gpu.fma_per_clock:
        units = gpu.sms * gpu.tensor_cores_per_sm
        per_clock, clock = units * gpu.fma_per_clock[fmt], gpu.tensor_clock
    else:
        legal = ", ".join(["fp32", *gpu.fma_per_clock])
        raise ValueError(f"no peak for {fmt!r} on {gpu.name}; there is {legal}")
    return 2 * per_clock * clock / 1000  # a multiply-add is two operations


def ridge(gpu: str | Gpu, fmt: str) -> float:
    """Return the operations per byte of memory traffic from which on the peak can be reached.

    Below it memory is the limit. Errors as for `peak_tflops`.

    >>> round(ridge("V100", "fp16")), round(ridge("V100", "fp32"))
    (139, 17)
    """
    gpu = find_gpu(gpu)
    return peak_tflops(gpu, fmt) * 1000 / gpu.bandwidth


def gemm_intensity(m: int, n: int, k: int, input_bytes: int = 2, output_bytes: int = 4) -> float:
    """Return the operations per byte of D = A B, A (m, k) and B (k, n), if each is moved once.

    Sizes are those of one number: A and B in FP16 and D in FP32, unless told otherwise. C is not
    read. For squares of size n this is n/4, and n/3 where D is FP16, too.

    >>> gemm_intensity(4096, 4096, 4096), gemm_intensity(4096, 1, 4096) < 1
    (1024.0, True)
    >>> gemm_intensity(4096, 4096, 4096, output_bytes=2) == 4096 / 3
    True
    """
    moved = (m * k + k * n) * input_bytes + m * n * output_bytes
    return 2 * m * n * k / moved


def find_gpu(gpu: str | Gpu) -> Gpu:
    """Return the record of this name in any case, or the record itself.

    Raises ValueError for a name that GPUS does not have.
    """
    if isinstance(gpu, Gpu):
        return gpu
    by_lower = {name.lower(): found for name, found in GPUS.items()}
    wanted = str(gpu).strip().lower()
    if wanted in by_lower:
        return by_lower[wanted]
    close = get_close_matches(wanted, by_lower, n=1)
    suggestion = f" did you mean {by_lower[close[0]].name!r}?" if close else ""
    raise ValueError(f"no clocks and counts for {gpu!r};{suggestion} there is {', '.join(GPUS)}")


_VOLTA_FMA = {"fp16": 64}
_A100_FMA = {"tf32": 128, "fp16": 256, "bf16": 256}
_ADA_FMA = {"tf32": 32, "fp16": 64, "bf16": 64}
_HOPPER_FMA = {"tf32": 256, "fp16": 512, "bf16": 512, "fp8": 1024}

_V100 = {"fp32": 15.7, "fp16": 125}
_T4 = {"fp32": 8.1, "fp16": 65}
_A100 = {"fp32": 19.5, "tf32": 156, "fp16": 312, "bf16": 312}
_ADA = {"fp32": 82.6, "tf32": 82.6, "fp16": 165, "bf16": 165}
_HOPPER = {"fp32": 67, "tf32": 495, "fp16": 989, "bf16": 989, "fp8": 1979}

#: The products by name: SXM modules but for the cards T4 and RTX 4090, the A100 with 80 GB.
GPUS: Mapping[str, Gpu] = MappingProxyType(
    {
        gpu.name: gpu
        for gpu in (
            Gpu("V100", "Volta", 80, 84, 64, 8, _VOLTA_FMA, 1.53, 1.53, 900, _V100),
            Gpu("T4", "Turing", 40, None, 64, 8, _VOLTA_FMA, 1.59, 1.59, 320, _T4),
            Gpu("A100", "Ampere", 108, 128, 64, 4, _A100_FMA, 1.41, 1.41, 2039, _A100),
            Gpu("RTX 4090", "Ada Lovelace", 128, 144, 128, 4, _ADA_FMA, 2.52, 2.52, 1008, _ADA),
            Gpu("H100", "Hopper", 132, 144, 128, 4, _HOPPER_FMA, 1.98, 1.83, 3350, _HOPPER),
            Gpu("H200", "Hopper", 132, 144, 128, 4, _HOPPER_FMA, 1.98, 1.83, 4800, _HOPPER),
        )
    }
)
