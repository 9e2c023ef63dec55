"""The plans that have a name, by purpose and by the machine they were made for."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from ampcourse.benchmark.plans import Gemm, LargestBatch, Plan, Task, Throughput, Training

#: Every recipe that runs uncompiled, FP32 first: the ratios are taken to it.
ALL = (
    "fp32",
    "fp32+nhwc",
    "default",
    "default+nhwc",
    "tf32",
    "tf32+nhwc",
    "amp-fp16",
    "amp-fp16+nhwc",
    "amp-fp16-ours+nhwc",
    "amp-bf16",
    "amp-bf16+nhwc",
    "O1+nhwc",
    "O2+nhwc",
    "O3+nhwc",
    "fp16+nhwc",
    "amp-fp16+nhwc+checkpoint",
)
COMPILED = ("fp32", "amp-fp16+nhwc+compile", "amp-bf16+nhwc+compile")

#: At 28 px and the stock stem a GPU waits for Python, whatever the arithmetic.
_SMALL = Task(size=28, batch=256)

GPU_FULL = Plan(
    "gpu-full",
    "one large GPU, eight minutes: speed of all recipes, a host-bound case, trainings, products",
    (
        Throughput(Task(), ALL, rounds=7, turn_s=0.2, warm_up=3),
        Throughput(
            _SMALL, ("fp32", "amp-fp16+nhwc", "amp-bf16+nhwc"), rounds=7, turn_s=0.2, warm_up=3
        ),
        Training(Task(), ("fp32+nhwc", "amp-fp16+nhwc", "amp-bf16+nhwc"), epochs=10),
        Gemm(),
        LargestBatch(Task(), ("fp32+nhwc", "amp-fp16+nhwc"), start=4096, within=1 / 16),
        Throughput(Task(), COMPILED, rounds=7, turn_s=0.2, warm_up=3),
    ),
    seconds=450,
)

# A residual net of ten layers learns something in the minute that a training may take here;
# ResNet50 does not, but its speed can be measured.
CPU_SHORT = Plan(
    "cpu-short",
    "two cores of a laptop, four minutes: FP32 against BF16, speed and one pair of trainings",
    (
        Throughput(Task(size=96, batch=8), ("fp32", "amp-bf16"), rounds=7, turn_s=0.5, warm_up=2),
        Training(
            Task("resnet10", "3x3", 28, 64),
            ("fp32", "amp-bf16"),
            epochs=3,
            learning_rate=0.05,
            images=2000,
        ),
    ),
    seconds=200,
    peaks_s=4,
)

# Rates and sizes found by trials in FP32 before any of the runs was recorded.
THREE_SEEDS = Plan(
    "three-seeds",
    "FP32 against BF16 from three seeds, for the accuracy: an hour or more",
    (
        Training(
            Task("resnet18", "stock", 28, 32),
            ("fp32", "amp-bf16"),
            epochs=1,
            seeds=(0, 1, 2),
            learning_rate=0.02,
            images=16_000,
        ),
    ),
    seconds=3 * 3600,
    peaks_s=0.0,
    use="full",
)

_TINY = Task("tiny", "3x3", 12, 16, "synthetic")

#: The parts of gpu-full, each recipe of it, on a net of 6,000 weights.
REHEARSAL = Plan(
    "rehearsal",
    "every path of gpu-full in a minute on a CPU: numbers that mean nothing",
    (
        Throughput(_TINY, ALL, rounds=3, turn_s=0.0, warm_up=2),
        Training(_TINY, ("fp32+nhwc", "amp-fp16+nhwc", "amp-bf16+nhwc"), epochs=2, images=64),
        Gemm((32, 64), seconds=0.001),
        LargestBatch(_TINY, ("fp32+nhwc", "amp-fp16+nhwc"), cap_bytes=2**26, start=64),
        Throughput(_TINY, ("fp32", "amp-bf16+nhwc+compile"), rounds=3, turn_s=0.0, warm_up=2),
    ),
    seconds=240,
    peaks_s=0.2,
)

PRESETS: Mapping[str, Plan] = {
    "gpu-full": GPU_FULL,
    "h200": GPU_FULL,
    "cpu-short": CPU_SHORT,
    "laptop": CPU_SHORT,
    "three-seeds": THREE_SEEDS,
    "rehearsal": REHEARSAL,
}


def preset(name: str) -> Plan:
    """Return the plan of a name; ValueError, with the names there are, for another."""
    if name not in PRESETS:
        close = get_close_matches(name, PRESETS, n=1)
        suggestion = f" did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"preset {name!r} is unknown;{suggestion} choose from {', '.join(PRESETS)}"
        )
    return PRESETS[name]
