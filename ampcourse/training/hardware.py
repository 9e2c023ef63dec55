"""What this machine can do with 16-bit floats, found out before anything is timed."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

import torch

# Names in torch.cpu.get_capabilities() and, where torch has no such function, in /proc/cpuinfo.
_CPU_BF16 = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
_CPU_FP16 = ("avx512_fp16", "amx_fp16", "fp16_arith", "asimdhp")


@dataclass(frozen=True)
class Hardware:
    """A device and whether it computes in bf16 and fp16 itself; None means nobody can tell."""

    device: str
    name: str
    bf16: bool | None
    fp16: bool | None

    @property
    def amp(self) -> str:
        """The mixed-precision recipe to measure here: "fp16" on a GPU without bf16, else "bf16"."""
        return "fp16" if self.device == "cuda" and not self.bf16 else "bf16"

    def __str__(self) -> str:
        return f"{self.name}: {_outlook(self)}"


def this_machine() -> Hardware:
    """Return the CUDA GPU if there is one, else the CPU, with what it can do."""
    return _gpu() if torch.cuda.is_available() else _cpu()


def cpu_name() -> str:
    """Return the model name of this CPU as the system gives it."""
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def cpu_model() -> dict[str, str]:
    """Return vendor, family and model of this CPU as far as the system gives them."""
    info = _cpuinfo()
    names = {"vendor_id": "cpu_vendor", "cpu family": "cpu_family", "model": "cpu_model"}
    return {short: info[long] for long, short in names.items() if long in info}


def _gpu() -> Hardware:
    major, _ = torch.cuda.get_device_capability()
    # Without including_emulation=False a T4 says yes, and its emulated bf16 is slower than fp32.
    bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    return Hardware("cuda", torch.cuda.get_device_name(), bf16, major >= 7)


def _cpu() -> Hardware:
    flags = _cpu_flags()
    bf16 = any(name in flags for name in _CPU_BF16) if flags else None
    fp16 = any(name in flags for name in _CPU_FP16) if flags else None
    return Hardware("cpu", cpu_name(), bf16, fp16)


def _cpu_flags() -> set[str]:
    ask = getattr(torch.cpu, "get_capabilities", None)
    if ask is not None:
        return {name for name, value in ask().items() if value is True}
    info = _cpuinfo()
    return set((info.get("flags") or info.get("Features") or "").split())


def _cpuinfo(path: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Return the first entry of each name in /proc/cpuinfo; nothing where there is no such file."""
    entries: dict[str, str] = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            key, _, value = line.partition(":")
            entries.setdefault(key.strip(), value.strip())
    return entries


def _outlook(hardware: Hardware) -> str:
    if hardware.device == "cuda":
        return _gpu_outlook(hardware)
    if hardware.bf16 is None:
        return "it does not say whether it has bf16 instructions, so a gain or a loss is possible."
    if hardware.bf16:
        return (
            "it has bf16 instructions, so bf16 autocast has a chance to gain; on a network "
            "this small the casts may still eat the gain."
        )
    return (
        "it has no bf16 instructions. PyTorch computes bf16 in FP32 and rounds, often with slower "
        "code, so expect bf16 autocast to lose time here."
    )


def _gpu_outlook(hardware: Hardware) -> str:
    if hardware.amp == "bf16":
        return "it computes in bf16 on Tensor Cores, so expect bf16 autocast to gain."
    if hardware.fp16:
        return (
            "it has no bf16 of its own, so fp16 autocast with a GradScaler is measured. With "
            "Tensor Cores it gains; the GTX 16 series has none and gains little."
        )
    return (
        "it is older than Tensor Cores, so expect fp16 autocast to save memory but hardly any time."
    )
