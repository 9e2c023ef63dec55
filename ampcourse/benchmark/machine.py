"""The device a benchmark runs on: the one place that talks to torch.cuda.

Everything else asks a Machine. Tests hand CudaMachine a stand-in for torch.cuda, so that each path
of a run on a GPU is taken on a CPU, too.
"""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import torch

from ampcourse.benchmark.clocks import cpu_clocks, gpu_clocks, gpu_driver
from ampcourse.training.hardware import cpu_name

Movable = TypeVar("Movable", torch.Tensor, torch.nn.Module)

# What libraries say when they get no memory, beside torch.OutOfMemoryError.
_NO_MEMORY = (
    "out of memory",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "can't allocate memory",
    "not enough memory",
)


class MachineError(ValueError):
    """The device that was asked for is not there or does not work."""


class Machine:
    """A CPU; `CudaMachine` is a GPU.

    `kind` is "cpu" or "cuda"; `device` is where tensors go.
    """

    kind = "cpu"

    def __init__(self, device: torch.device | None = None) -> None:
        self.device = device or torch.device("cpu")
        #: torch's own TF32 settings, as they were when this machine was opened.
        self.default_tf32 = self.tf32()

    @property
    def name(self) -> str:
        """The model name of the device."""
        return cpu_name()

    def to(self, value: Movable) -> Movable:
        """Return a tensor or a module on the device."""
        return value.to(self.device)

    def synchronize(self) -> None:
        """Wait until the device has done all it was given."""

    def seconds(self, run: Callable[[], object]) -> float:
        """Return how long the device takes for what `run` gives it, from idle to idle."""
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def reset_peak(self) -> None:
        """Begin to look for the peak of memory anew."""

    def peak(self) -> dict[str, int | None]:
        """Return peak_allocated and peak_reserved in bytes since reset_peak; None if unknown."""
        return {"peak_allocated": None, "peak_reserved": None}

    def held(self) -> dict[str, int | None]:
        """Return the bytes of tensors that are there now, and those reserved for tensors."""
        return {"allocated": None, "reserved": None}

    def search_kernels(self, on: bool) -> None:
        """Have cuDNN try its convolution kernels on each new shape and take the fastest, or not."""
        torch.backends.cudnn.benchmark = on

    def empty_cache(self) -> None:
        """Give memory back that nothing uses."""
        gc.collect()

    def free_memory(self) -> int | None:
        """Return the bytes that are free, or None where nobody can tell."""
        return _free_memory()

    def total_memory(self) -> int | None:
        """Return the bytes of the device's own memory; None for a CPU."""
        return None

    def clocks(self) -> dict[str, Any] | None:
        """Return clocks and what they depend on, as they are now, or None."""
        return cpu_clocks()

    def out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error says that there was too little memory."""
        if isinstance(error, torch.OutOfMemoryError | MemoryError):
            return True
        return isinstance(error, RuntimeError) and any(word in str(error) for word in _NO_MEMORY)

    def tf32(self) -> dict[str, str]:
        """Return how FP32 matrix products and convolutions are computed: ieee, tf32 or none."""
        return {"matmul": _matmul().fp32_precision, "conv": _conv().fp32_precision}

    def set_tf32(self, matmul: str, conv: str) -> None:
        """Set how FP32 matrix products and convolutions are computed, for the whole process."""
        # The older allow_tf32 must not be read after this: torch raises an error then.
        _matmul().fp32_precision = matmul
        _conv().fp32_precision = conv

    def describe(self) -> dict[str, Any]:
        """Return what a reader of a row must know of hardware and versions, as JSON data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "cpu": cpu_name(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "torch": torch.__version__,
            "torchvision": _version("torchvision"),
            "python": platform.python_version(),
            "os": f"{platform.system()} {platform.machine()}",
            "tf32": self.tf32(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            **self._of_gpu(),
        }

    def _of_gpu(self) -> dict[str, Any]:
        names = ("driver", "cuda", "cudnn", "gpu_memory", "capability")
        return dict.fromkeys(names)


class CudaMachine(Machine):
    """A GPU, by its number. `cuda` is torch.cuda or what stands in for it in tests."""

    kind = "cuda"

    def __init__(self, index: int = 0, cuda: Any = None, device: torch.device | None = None):
        self.cuda = torch.cuda if cuda is None else cuda
        self.index = index
        super().__init__(device or torch.device("cuda", index))
        self.cuda.set_device(index)

    @property
    def name(self) -> str:
        return str(self.cuda.get_device_name(self.index))

    def synchronize(self) -> None:
        self.cuda.synchronize(self.index)

    def seconds(self, run: Callable[[], object]) -> float:
        self.synchronize()
        start, end = (self.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1000

    def reset_peak(self) -> None:
        self.cuda.reset_peak_memory_stats(self.index)

    def peak(self) -> dict[str, int | None]:
        return {
            "peak_allocated": int(self.cuda.max_memory_allocated(self.index)),
            "peak_reserved": int(self.cuda.max_memory_reserved(self.index)),
        }

    def held(self) -> dict[str, int | None]:
        return {
            "allocated": int(self.cuda.memory_allocated(self.index)),
            "reserved": int(self.cuda.memory_reserved(self.index)),
        }

    def empty_cache(self) -> None:
        gc.collect()
        self.cuda.empty_cache()

    def free_memory(self) -> int | None:
        return int(self.cuda.mem_get_info(self.index)[0])

    def total_memory(self) -> int | None:
        return int(self.cuda.mem_get_info(self.index)[1])

    def clocks(self) -> dict[str, Any] | None:
        return gpu_clocks(self._uuid)

    @property
    def _uuid(self) -> str:
        # By UUID, since CUDA_VISIBLE_DEVICES counts otherwise than NVML does.
        return f"GPU-{getattr(self.cuda.get_device_properties(self.index), 'uuid', '')}"

    def _of_gpu(self) -> dict[str, Any]:
        cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None
        return {
            "driver": gpu_driver(self._uuid),
            "cuda": torch.version.cuda,
            "cudnn": cudnn,
            "gpu_memory": self.total_memory(),
            "capability": list(self.cuda.get_device_capability(self.index)),
        }


def open_machine(device: str = "auto", cuda: Any = None) -> Machine:
    """Return the machine for "cpu", "cuda", "cuda:1" or "auto", a GPU if there is one.

    Raises MachineError, a ValueError, for another text, for a GPU that is not there, and for one
    that cannot compute; its message says what to try.
    """
    chosen = torch.cuda if cuda is None else cuda
    kind, _, number = device.strip().lower().partition(":")
    if kind not in ("auto", "cpu", "cuda") or (
        number and not (kind == "cuda" and number.isdigit())
    ):
        raise MachineError(f"--device {device}: choose auto, cpu, cuda or cuda:N with N from 0 on")
    if kind == "cpu" or (kind == "auto" and not chosen.is_available()):
        return Machine()
    if not chosen.is_available():
        raise MachineError(f"--device {device}: {_why_no_cuda()}")
    index = int(number or 0)
    if index >= chosen.device_count():
        last = chosen.device_count() - 1
        raise MachineError(f"--device {device}: the GPUs here are cuda:0 to cuda:{last}")
    return CudaMachine(index, cuda, None if cuda is None else cuda.tensors)


def _why_no_cuda() -> str:
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return (
            f"this torch ({torch.__version__}) was built without CUDA. Install a build with it "
            "(pytorch.org shows the command), or use --device cpu"
        )
    return (
        "torch sees no GPU. See whether nvidia-smi lists one, whether its driver is as new as "
        f"CUDA {torch.version.cuda}, and whether CUDA_VISIBLE_DEVICES hides it; or use --device cpu"
    )


def _matmul() -> Any:
    return torch.backends.cuda.matmul


def _conv() -> Any:
    # Read by name: torch's type stubs do not know the module cudnn.conv.
    return getattr(torch.backends.cudnn, "conv")  # noqa: B009


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _free_memory() -> int | None:
    """Return the memory that Linux says is available, within the limit of our control group."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.is_file():
        return None
    lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
    available = int(lines["MemAvailable"].split()[0]) * 1024
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.is_file() and used.is_file() and limit.read_text().strip() != "max":
        available = min(available, int(limit.read_text()) - int(used.read_text()))
    return available
