"""What hardware can do at most: dense peaks by type of number, and memory bandwidth.

GPUs are quoted from data sheets. A CPU has no data sheet that fits a virtual machine: what its
libraries reach in large matrix products and in a sum of long arrays is measured on the spot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from ampcourse.tensor_core.throughput import GPUS


@dataclass(frozen=True)
class Device:
    """A device's peaks in TFLOP/s by type of number and its bandwidth in GB/s.

    `kind` is "quoted" or "measured". `tensor_cores` are the types that run on Tensor Cores, whose
    convolutions want channels last.

    >>> round(DEVICES["V100"].ridge("fp16"), 1), round(DEVICES["V100"].ridge("fp32"), 1)
    (138.9, 17.4)
    """

    name: str
    kind: str
    peaks: Mapping[str, float]
    bandwidth: float
    tensor_cores: frozenset[str]
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("quoted", "measured"):
            raise ValueError(f"kind={self.kind!r} is unknown; choose quoted or measured")
        object.__setattr__(self, "peaks", MappingProxyType(dict(self.peaks)))

    def peak(self, fmt: str) -> float:
        """Return the peak in TFLOP/s for a type; ValueError, naming those there are, for others."""
        if fmt not in self.peaks:
            raise ValueError(
                f"{self.name} has no {self.kind} peak for {fmt}; there is {', '.join(self.peaks)}"
            )
        return self.peaks[fmt]

    def ridge(self, fmt: str) -> float:
        """Return the operations per byte from which on arithmetic, not memory, is the limit."""
        return self.peak(fmt) * 1000 / self.bandwidth


def find_device(device: str | Device) -> Device:
    """Return the quoted device of this name in any case, or the record itself.

    Raises ValueError for a name that DEVICES does not have.
    """
    if isinstance(device, Device):
        return device
    by_lower = {name.lower(): found for name, found in DEVICES.items()}
    wanted = device.strip().lower()
    if wanted in by_lower:
        return by_lower[wanted]
    close = get_close_matches(wanted, by_lower, n=1)
    suggestion = f" did you mean {by_lower[close[0]].name!r}?" if close else ""
    raise ValueError(
        f"no peaks are quoted for {device!r};{suggestion} there is {', '.join(DEVICES)}. "
        "Give a Device with peaks from its data sheet."
    )


def recognise(cuda_name: str) -> Device | None:
    """Return the device that torch.cuda.get_device_name calls so, or None if it is not quoted.

    >>> recognise("NVIDIA A100-SXM4-80GB").name, recognise("NVIDIA A100-SXM4-40GB").name
    ('A100', 'A100 40 GB')
    >>> recognise("NVIDIA GeForce RTX 3090 Ti") is None
    True
    """
    words = cuda_name.replace("-", " ").replace("_", " ").lower()
    for part in ("nvidia", "geforce", "tesla", "graphics device"):
        words = words.replace(part, " ")
    return next((DEVICES[name] for name, fits in _NAMES.items() if fits(words.split())), None)


def measure_cpu(seconds: float = 2.0) -> Device:
    """Return what this CPU reaches with torch's present number of threads, in about `seconds`.

    Peaks are the best of several square matrix products in FP32, BF16 and FP16, each as large as
    its share of the time allows: what the library reaches, below what the silicon could.
    Bandwidth is the best of several sums of two arrays into a third, 64 MiB each, counted as 3
    movements. Numbers of a busy machine are too low. Raises ValueError for no time.
    """
    import torch

    if not seconds > 0:
        raise ValueError(f"seconds={seconds} leaves no time to measure; give a number above 0")
    types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    with torch.inference_mode():
        peaks = {name: _gemm_tflops(dtype, seconds / 4) for name, dtype in types.items()}
        bandwidth = _sum_gbytes(seconds / 4)
    threads = torch.get_num_threads()
    return Device(
        f"this CPU, {threads} thread{'s' * (threads > 1)}",
        "measured",
        peaks,
        bandwidth,
        frozenset(),
        "matrix products and a sum of long arrays, by torch",
    )


def _gemm_tflops(dtype: object, seconds: float) -> float:
    """Return the best rate of n x n products, n doubled while a product takes no share of time."""
    import torch

    end, best, n = time.perf_counter() + seconds, 0.0, 128
    while True:
        a, b = (torch.ones(n, n, dtype=dtype) for _ in range(2))
        out = torch.empty_like(a)
        took = _best_time(lambda a=a, b=b, out=out: torch.mm(a, b, out=out), 3)  # type: ignore[misc]
        best = max(best, 2 * n**3 / took / 1e12)
        if time.perf_counter() + 3 * 8 * took > end or n == 4096:
            return best
        n *= 2


def _sum_gbytes(seconds: float) -> float:
    import torch

    a, b = torch.ones(2**24), torch.ones(2**24)
    out = torch.empty_like(a)
    took = _best_time(lambda: torch.add(a, b, out=out), 3)
    repeats = max(1, min(50, int(seconds / took) - 3))
    took = min(took, _best_time(lambda: torch.add(a, b, out=out), repeats))
    return 3 * a.numel() * a.element_size() / took / 1e9


def _best_time(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


_DATA_SHEETS = (
    "NVIDIA's data sheets and white papers, dense, as in ampcourse.tensor_core.throughput"
)
_COUNTED = (
    "NVIDIA's white papers, dense, FP32 accumulation, read in third parties' copies; equal to "
    "units x multiply-adds x clock"
)


def _known(name: str) -> Device:
    gpu = GPUS[name]
    on_tensor_cores = frozenset(gpu.fma_per_clock)
    return Device(name, "quoted", gpu.quoted, gpu.bandwidth, on_tensor_cores, _DATA_SHEETS)


def _quoted(
    name: str, peaks: Mapping[str, float], bandwidth: float, types: str, note: str = ""
) -> Device:
    return Device(name, "quoted", peaks, bandwidth, frozenset(types.split()), _COUNTED, note)


_A100 = GPUS["A100"]

#: The quoted devices by name.
DEVICES: Mapping[str, Device] = MappingProxyType(
    {
        device.name: device
        for device in (
            *(_known(name) for name in GPUS),
            _quoted("A100 40 GB", _A100.quoted, 1555, "tf32 fp16 bf16"),
            _quoted(
                "RTX 3090",
                {"fp32": 35.6, "tf32": 35.6, "fp16": 71.2, "bf16": 71.2},
                936,
                "tf32 fp16 bf16",
                "82 SMs x 128 x 2 x 1.695 GHz; Tensor Cores twice that",
            ),
            _quoted(
                "RTX 2080 Ti",
                {"fp32": 13.4, "fp16": 53.8},
                616,
                "fp16",
                "68 SMs x 64 x 2 x 1.545 GHz; Tensor Cores four times that",
            ),
            _quoted(
                "GTX 1080 Ti",
                {"fp32": 11.3, "fp16": 11.3},
                484,
                "",
                "28 SMs x 128 x 2 x 1.582 GHz; FP16 is stored, FP32 computed: its own FP16 units "
                "are 64 times slower and libraries avoid them",
            ),
        )
    }
)

# A longer name first: "rtx 3090 ti" is another card than "rtx 3090".
_NAMES: dict[str, Callable[[list[str]], bool]] = {
    "V100": lambda w: "v100" in w and "pcie" not in w,
    "T4": lambda w: "t4" in w,
    "A100": lambda w: "a100" in w and "80gb" in w and "pcie" not in w,
    "A100 40 GB": lambda w: "a100" in w and "80gb" not in w,
    "RTX 4090": lambda w: "4090" in w and "laptop" not in w and "d" not in w,
    "H100": lambda w: "h100" in w and "hbm3" in w,
    "H200": lambda w: "h200" in w and "nvl" not in w,
    "RTX 3090": lambda w: "3090" in w and "ti" not in w,
    "RTX 2080 Ti": lambda w: "2080" in w and "ti" in w,
    "GTX 1080 Ti": lambda w: "1080" in w and "ti" in w,
}
