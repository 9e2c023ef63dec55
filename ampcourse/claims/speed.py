"""Claims about speed, memory and the hardware's peaks."""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import TYPE_CHECKING

from ampcourse.benchmark.records import records
from ampcourse.claims.claim import Claim, Finding

if TYPE_CHECKING:
    from torch import nn

_EPOCH = 60_000  # training images of FashionMNIST


def three_lines() -> Finding:
    """The speed-ups of all records of the course that are not our own."""
    ratios = [result.speedup for result in records() if result.kind != "measured"]
    return Finding(
        "right" if min(ratios) > 1.9 and max(ratios) < 2.1 else "depends",
        f"{len(ratios)} runs by others gained {min(ratios):.2f} to {max(ratios):.2f} times, "
        f"{median(ratios):.2f} in the middle: it depends on the GPU, on TF32 in the baseline, on "
        "the layout, and on whether Python or the GPU is the limit.",
    )


def half_memory() -> Finding:
    """A ResNet50's peak under autocast against FP32, by use, and recorded peaks."""
    fp32, amp = (_peak(recipe, 64) for recipe in ("fp32", "autocast"))
    kept, before = (sum(p[use] for use in ("weights", "optimizer state")) for p in (amp, fp32))
    whole = sum(amp.values()) / sum(fp32.values())
    changes = [r.memory_change for r in records() if r.memory_change is not None]
    return Finding(
        "right" if whole < 0.525 else "right in part",
        f"Predicted for ResNet50, 64 images of 96 pixels: activations {_ratio(amp, fp32):.2f} "
        f"times, weights and optimizer state {kept / before:.2f} times, the "
        f"peak {whole:.2f} times. Peaks in records: "
        f"{1 + min(changes):.2f} to {1 + max(changes):.2f} times.",
    )


def twice_the_batch() -> Finding:
    """The speed at an equal batch, and the batches that fit, as two numbers."""
    speed = _v100_limits(96)
    gain = speed["fp32"] / speed["amp-fp16"]
    fits = [_largest(recipe, 16 * 2**30) for recipe in ("fp32", "autocast")]
    return Finding(
        "right in part",
        f"Two gains. Modelled for a V100 and 96 pixels: at an equal batch up to {gain:.1f} times "
        f"as fast; and in 16 GiB {fits[1] / fits[0]:.1f} times as large a batch. A larger batch "
        "is not faster by itself once the GPU is busy.",
    )


def ten_epochs() -> Finding:
    """The articles' 333 and 141 seconds against what a V100 could do at two image sizes."""
    seed = next(result for result in records() if result.unit == "s" and "epochs" in result.flags)
    large, small = (_v100_limits(size) for size in (96, 28))
    return Finding(
        "not checkable",
        f"{seed.baseline.value:g} s and {seed.amp.value:g} s are {seed.speedup:.2f} times; GPU, "
        "image size and batch are not told. A V100 needs at least "
        f"{large['fp32']:.0f} and {large['amp-fp16']:.0f} s with 96 pixels, {small['fp32']:.0f} "
        f"and {small['amp-fp16']:.0f} s with 28 (modelled, NCHW): the figures fit 96, by our "
        "inference.",
    )


def cifar10() -> Finding:
    """The articles' run on an RTX 4090: time, memory and accuracy as ratios."""
    torch_amp, apex = (
        next(r for r in records() if "4090" in r.hardware and ("apex" in r.name) is is_apex)
        for is_apex in (False, True)
    )
    drop = 100 * ((torch_amp.baseline.accuracy or 0) - (torch_amp.amp.accuracy or 0))
    return Finding(
        "depends",
        f"torch.amp {torch_amp.speedup:.2f} and Apex {apex.speedup:.2f} times as fast, memory "
        f"{torch_amp.memory_change:+.0%} and {apex.memory_change:+.0%}, accuracy {drop:.1f} points "
        "lower with torch.amp, from one run each. The baseline had TF32 on, by our inference.",
    )


def volta_units() -> Finding:
    """The V100's Tensor Cores, counted, and the peak that follows."""
    from ampcourse.tensor_core.throughput import GPUS, peak_tflops

    v100 = GPUS["V100"]
    return Finding(
        "right" if v100.chip_sms == v100.sms else "right in part",
        f"The full chip has {v100.chip_sms} SMs, the product {v100.sms}. A Tensor Core of Volta "
        f"does {v100.fma_per_clock['fp16']} multiply-adds a clock: {v100.sms} × "
        f"{v100.tensor_cores_per_sm} × {v100.fma_per_clock['fp16']} × 2 × {v100.tensor_clock} GHz "
        f"= {peak_tflops('V100', 'fp16'):.1f} TFLOP/s.",
    )


@cache
def _v100_limits(pixels: int) -> dict[str, float]:
    """Return the least seconds of ten epochs of FashionMNIST by recipe, channels first."""
    from ampcourse.benchmark.roofline import limits

    found = limits(_resnet50(), (256, 1, pixels, pixels), "V100", layout="NCHW")
    return {name: 10 * _EPOCH / limit.images_per_second for name, limit in found.items()}


@cache
def _peak(recipe: str, batch: int) -> dict[str, int]:
    from ampcourse.memory.peak import predict

    return predict(_resnet50(), "momentum", recipe, (batch, 1, 96, 96)).bytes


def _largest(recipe: str, memory: int) -> int:
    """Return the largest batch whose predicted peak fits: the peak grows evenly with the batch."""
    small, large = (sum(_peak(recipe, batch).values()) for batch in (64, 128))
    each = (large - small) / 64
    return int((memory - (small - 64 * each)) / each)


def _ratio(amp: dict[str, int], fp32: dict[str, int]) -> float:
    return amp["activations"] / fp32["activations"]


@cache
def _resnet50() -> nn.Module:
    from ampcourse.benchmark.models import build

    return build("resnet50")


SPEED = (
    Claim("three lines", "Three lines of code give twice the speed", "00", "recorded", three_lines),
    Claim("half the memory", "AMP halves memory", "11", "computed", half_memory),
    Claim(
        "twice the batch",
        "AMP gives double the batch and twice the speed",
        "10",
        "computed",
        twice_the_batch,
    ),
    Claim(
        "ten epochs",
        "ResNet50 on FashionMNIST, ten epochs: 333 s become 141 s, with the same accuracy",
        "14",
        "computed",
        ten_epochs,
    ),
    Claim(
        "RTX 4090",
        "ResNet50 on CIFAR10, RTX 4090, 11 epochs: 22.27 min become 16.99, or 16.51 with Apex",
        "14",
        "recorded",
        cifar10,
    ),
    Claim(
        "V100's units",
        "A V100 has 84 SMs of 32 FP64, 64 FP32 and 64 INT32 cores and 8 Tensor Cores",
        "03",
        "computed",
        volta_units,
    ),
)
