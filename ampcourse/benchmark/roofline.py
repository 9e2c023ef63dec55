"""The least time a training step can take on a device, layer by layer, and the ratio of two.

Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009: a kernel takes at least its operations
over the peak and at least its bytes over the bandwidth. Kernels run one after the other.

Layout, as modelled: kernels for Tensor Cores want images with channels last (NHWC). With channels
first (NCHW) each image that a convolution on Tensor Cores reads or writes is laid out anew, read
and written once more. Without Tensor Cores both layouts cost the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from ampcourse.benchmark.devices import Device, find_device
from ampcourse.benchmark.kernels import Kernel
from ampcourse.benchmark.layers import RECIPES, Workload, workload

LAYOUTS = ("NHWC", "NCHW")


@dataclass(frozen=True)
class LayerLimit:
    """What one layer must do in a step, forward and backward, and the least time it takes."""

    name: str
    kind: str
    flops: int
    bytes: int
    seconds: float
    #: The part of `seconds` in which arithmetic, not memory, is the limit.
    arithmetic_seconds: float

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.bytes

    @property
    def bound(self) -> str:
        """What limits most of its time: "arithmetic" or "memory"."""
        return "arithmetic" if 2 * self.arithmetic_seconds > self.seconds else "memory"


@dataclass(frozen=True)
class StepLimit:
    """The least time of a training step and where it goes."""

    device: Device
    recipe: str
    layout: str
    batch: int
    layers: tuple[LayerLimit, ...]

    @property
    def seconds(self) -> float:
        """The least time of a step."""
        return sum(layer.seconds for layer in self.layers)

    @property
    def images_per_second(self) -> float:
        """The highest rate that is possible."""
        return self.batch / self.seconds

    @property
    def by_kind(self) -> dict[str, float]:
        """The least time by kind of layer, the longest first."""
        found: dict[str, float] = {}
        for layer in self.layers:
            found[layer.kind] = found.get(layer.kind, 0.0) + layer.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def step_limit(work: Workload, device: str | Device, layout: str = "NHWC") -> StepLimit:
    """Return the least time of a step's kernels on a device: a record or a name of DEVICES.

    A type without Tensor Cores of its own, as TF32 on a V100, runs as FP32; a 16-bit type without
    a peak raises ValueError, as does an unknown layout.
    """
    device = find_device(device)
    if layout not in LAYOUTS:
        raise ValueError(f"layout={layout!r} is unknown; choose from {', '.join(LAYOUTS)}")
    groups: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in work.kernels:
        groups.setdefault((kernel.layer, kernel.kind), []).append(kernel)
    layers = [
        _layer(*key, [(k, _cost(k, work.recipe, device, layout)) for k in found])
        for key, found in groups.items()
    ]
    return StepLimit(device, work.recipe, layout, work.batch, tuple(layers))


def ratio(baseline: StepLimit, other: StepLimit) -> float:
    """Return how many times as many images a second `other` could do as `baseline` could."""
    return other.images_per_second / baseline.images_per_second


def limits(
    model: nn.Module,
    inputs: torch.Tensor | Sequence[int],
    device: str | Device,
    recipes: Sequence[str] = ("fp32", "amp-fp16"),
    layout: str = "NHWC",
) -> dict[str, StepLimit]:
    """Return the limits of a model's step with momentum for several recipes, by their names."""
    return {
        recipe: step_limit(workload(model, inputs, recipe), device, layout) for recipe in recipes
    }


def arithmetic(kernel: Kernel, recipe: str, device: Device) -> str:
    """Return the type in which a kernel computes under a recipe on a device; "" if none counts."""
    if not kernel.fmt:
        return ""
    rule = RECIPES[recipe]
    if kernel.fmt == "half":
        return rule.half
    wanted = rule.convolution if kernel.kind == "convolution" else rule.matmul
    return wanted if wanted in device.peaks else "fp32"


def _cost(kernel: Kernel, recipe: str, device: Device, layout: str) -> tuple[float, float, int]:
    """Return the least seconds of a kernel, those due to arithmetic, and the bytes it moves."""
    fmt = arithmetic(kernel, recipe, device)
    rate = device.bandwidth * 1e9
    compute = kernel.flops / (device.peak(fmt) * 1e12) if fmt else 0.0
    memory = kernel.bytes / rate
    turned = layout == "NCHW" and fmt in device.tensor_cores
    extra = 2 * kernel.channels_bytes if turned else 0  # kernels of their own: read, write
    seconds = max(compute, memory) + extra / rate
    return seconds, compute if compute > memory else 0.0, kernel.bytes + extra


def _layer(
    name: str, kind: str, found: Sequence[tuple[Kernel, tuple[float, float, int]]]
) -> LayerLimit:
    return LayerLimit(
        name,
        kind,
        sum(kernel.flops for kernel, _ in found),
        sum(cost[2] for _, cost in found),
        sum(cost[0] for _, cost in found),
        sum(cost[1] for _, cost in found),
    )
