"""Say in words what mixed precision can be expected to do on a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ampcourse.training.hardware import Hardware


def outlook(hardware: Hardware) -> str:
    """Return what to expect of the recipe measured here, and no more than is known."""
    if hardware.device != "cuda":
        return _of_cpu(hardware)
    return _of_nvidia(hardware) if torch.version.hip is None else _of_amd(hardware)


def _of_cpu(cpu: Hardware) -> str:
    if cpu.bf16 is None:
        return "it does not say whether it has bf16 instructions, so a gain or a loss is possible."
    if cpu.bf16 and cpu.onednn:
        return (
            "it has bf16 instructions, so bf16 autocast has a chance to gain; on a network "
            "this small the casts may still eat the gain."
        )
    if cpu.bf16:
        return (
            "it has bf16 instructions, but the library that does PyTorch's convolutions does not "
            "say that it uses them here, so a gain or a loss is possible."
        )
    if cpu.onednn:
        return "it runs bf16 without bf16 multipliers, so a gain or a loss is possible."
    return (
        "it has no bf16 instructions. PyTorch computes bf16 in FP32 and rounds, often with slower "
        "code, so expect bf16 autocast to lose time here."
    )


def _of_nvidia(gpu: Hardware) -> str:
    if gpu.amp == "bf16":
        return "it computes in bf16 on Tensor Cores, so expect bf16 autocast to gain."
    if gpu.tensor_cores:
        return (
            "it has no bf16 of its own, so fp16 autocast with a GradScaler is measured; it has "
            "Tensor Cores for fp16, so expect a gain."
        )
    if "GTX 16" in gpu.name:
        return (
            "it is of Turing's generation but has no Tensor Cores, so expect fp16 autocast to "
            "save memory but to gain little time."
        )
    if gpu.fp16:
        return (
            "it is older than Tensor Cores but has fast fp16 arithmetic, so expect fp16 autocast "
            "to save memory and perhaps some time."
        )
    return (
        "it is older than Tensor Cores, so expect fp16 autocast to save memory but hardly any time."
    )


def _of_amd(gpu: Hardware) -> str:
    return (
        f"PyTorch drives it through ROCm, and {gpu.amp} autocast is measured. What it gains "
        "depends on the matrix units of this GPU, so a gain or a loss is possible."
    )
