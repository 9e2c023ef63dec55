"""What this machine can do with 16-bit floats, found out before anything is timed."""

from __future__ import annotations

import platform
import textwrap
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ampcourse.training.outlook import outlook

# Names in torch.cpu.get_capabilities() and, where torch has no such function, in /proc/cpuinfo.
_CPU_BF16 = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
_CPU_FP16 = ("avx512_fp16", "amx_fp16", "fp16_arith", "asimdhp")

# CUDA C++ Programming Guide, throughput of arithmetic: fast fp16 from 7.0 on, and in these before.
_OLD_FAST_FP16 = ((5, 3), (6, 0), (6, 2))

# A virtual machine often tells no more than this, and the generations differ in bf16.
_BARE_NAMES = ("AMD EPYC", "AMD EPYC Processor")
_EPYC = {("25", "1"): "AMD EPYC 7003 (Zen 3)"}

# What CUDA and HIP answer where a build holds no code for the GPU.
_NO_CODE = ("no kernel image", "invalid device function")


@dataclass(frozen=True)
class Hardware:
    """A device and whether it computes in bf16 and fp16 itself; None means nobody can tell.

    `tensor_cores` is known of NVIDIA GPUs only. `onednn` says of a CPU whether the library that
    does PyTorch's convolutions runs in bf16 there. `remark` says why another device is not used.
    """

    device: str
    name: str
    bf16: bool | None
    fp16: bool | None
    tensor_cores: bool | None = None
    onednn: bool | None = None
    remark: str = ""

    @property
    def amp(self) -> str:
        """The mixed-precision recipe to measure here: "fp16" on a GPU without bf16, else "bf16"."""
        return "fp16" if self.device == "cuda" and not self.bf16 else "bf16"

    def __str__(self) -> str:
        return textwrap.fill(f"{self.remark} {self.name}: {outlook(self)}".strip(), 80)


def this_machine() -> Hardware:
    """Return the CUDA GPU if there is one that works here, else the CPU, with what it can do."""
    if not torch.cuda.is_available():
        return this_cpu()
    with warnings.catch_warnings():
        # PyTorch warns at length about a GPU that it does not support; our remark says so.
        warnings.simplefilter("ignore")
        try:
            _try_gpu()
            return _gpu()
        except RuntimeError as error:
            return this_cpu(f"Your GPU{_architecture()} {gpu_problem(error)}; the CPU is measured.")


def this_cpu(remark: str = "") -> Hardware:
    """Return the CPU with what it can do; `remark` says why it is used, if that needs saying."""
    flags = _cpu_flags()
    bf16 = any(name in flags for name in _CPU_BF16) if flags else None
    fp16 = any(name in flags for name in _CPU_FP16) if flags else None
    cpu = Hardware("cpu", cpu_name(), bf16, fp16, onednn=_onednn_bf16())
    return replace(cpu, remark=remark)


def gpu_problem(error: RuntimeError) -> str:
    """Return in a few words why a GPU could not be used."""
    if isinstance(error, torch.OutOfMemoryError):
        return "has too little free memory"
    if any(words in str(error) for words in _NO_CODE):
        return "is not supported by this PyTorch"
    return f"failed ({str(error).splitlines()[0] if str(error) else type(error).__name__})"


def cpu_name() -> str:
    """Return the model name of this CPU, as exactly as the system gives it."""
    name = _cpu_name_of_torch() or _cpuinfo().get("model name")
    if name in _BARE_NAMES:
        return _epyc_name(name)
    return name or platform.processor() or platform.machine()


def cpu_model() -> dict[str, str]:
    """Return vendor, family and model of this CPU as far as the system gives them."""
    info = _cpuinfo()
    names = {"vendor_id": "cpu_vendor", "cpu family": "cpu_family", "model": "cpu_model"}
    return {short: info[long] for long, short in names.items() if long in info}


def _try_gpu() -> None:
    # is_available() asks the driver only. A convolution needs what the training will need.
    image = torch.ones(1, 1, 4, 4, device="cuda")
    torch.nn.functional.conv2d(image, image[:, :, :3, :3]).sum().item()


def _architecture() -> str:
    try:
        if torch.version.hip is not None:
            return ""
        return " (sm_{}{})".format(*torch.cuda.get_device_capability())
    except RuntimeError:
        return ""


def _gpu() -> Hardware:
    name = torch.cuda.get_device_name()
    # Without including_emulation=False a T4 says yes, and its emulated bf16 is slower than fp32.
    bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    if torch.version.hip is not None:  # capabilities and Tensor Cores are NVIDIA's
        return Hardware("cuda", name, bf16, True)
    capability = torch.cuda.get_device_capability()
    fp16 = capability >= (7, 0) or capability in _OLD_FAST_FP16
    return Hardware("cuda", name, bf16, fp16, capability >= (7, 0) and "GTX 16" not in name)


def _cpu_flags() -> set[str]:
    ask = getattr(torch.cpu, "get_capabilities", None)
    if ask is not None:
        return {name for name, value in ask().items() if value is True}
    info = _cpuinfo()
    return set((info.get("flags") or info.get("Features") or "").split())


def _cpu_name_of_torch() -> str:
    ask = getattr(torch.cpu, "get_capabilities", None)
    name = str(ask().get("cpu_name", "")).strip() if ask is not None else ""
    return "" if name.lower() == "unknown" else name


def _epyc_name(name: str) -> str:
    model = cpu_model()
    if not {"cpu_family", "cpu_model"} <= set(model):
        return name
    family, number = model["cpu_family"], model["cpu_model"]
    return _EPYC.get((family, number), f"AMD EPYC (family {family}, model {number})")


def _onednn_bf16() -> bool | None:
    try:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    except (AttributeError, RuntimeError):  # an older PyTorch, or one built without oneDNN
        return None if torch.backends.mkldnn.is_available() else False


def _cpuinfo(path: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Return the first entry of each name in /proc/cpuinfo; nothing where there is no such file."""
    entries: dict[str, str] = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            key, _, value = line.partition(":")
            entries.setdefault(key.strip(), value.strip())
    return entries
