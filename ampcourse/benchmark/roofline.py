"""The least time a training step can take on a device, layer by layer, and the ratio of two.

Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009: a kernel takes at least its operations
over the peak and at least its bytes over the bandwidth. Kernels run one after the other.

Layout, as modelled: kernels for Tensor Cores want images with channels last (NHWC). With channels
first (NCHW) each image that a convolution on Tensor Cores reads or writes is laid out anew, read
and written once more. Without Tensor Cores both layouts cost the same; a CPU's are not modelled.

Nothing stays in a cache from one kernel to the next. Where a step's tensors are no larger than the
cache, as for small networks or batches, a run can beat this limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from ampcourse.benchmark.devices import Device, find_device
from ampcourse.benchmark.kernels import Kernel
from ampcourse.benchmark.layers import Workload, find_recipe, workload

LAYOUTS = ("NHWC", "NCHW")

# What is left of the bytes of a kernel that a compiler merges into the batch norm beside it, whose
# two passes over the images it joins. Forward, a ReLU costs nothing more and a sum one reading;
# backward, the ReLU's output and the second gradient are read by both passes, and not written.
_FUSED = {
    ("relu", "forward"): 0.0,
    ("relu", "backward"): 2 / 3,
    ("add", "forward"): 1 / 3,
    ("add", "backward"): 2 / 3,
}


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
    fused: bool
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


def step_limit(
    work: Workload, device: str | Device, layout: str = "NHWC", *, fused: bool = False
) -> StepLimit:
    """Return the least time of a step's kernels on a device: a record or a name of DEVICES.

    `fused` is for torch.compile: ReLUs and sums as parts of the batch norms' kernels. A type
    without Tensor Cores of its own, as TF32 on a V100, runs as FP32; a 16-bit type without a peak
    raises ValueError, as does an unknown layout.
    """
    device = find_device(device)
    if layout not in LAYOUTS:
        raise ValueError(f"layout={layout!r} is unknown; choose from {', '.join(LAYOUTS)}")
    groups: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in work.kernels:
        groups.setdefault((kernel.layer, kernel.kind), []).append(kernel)
    layers = [
        _layer(*key, [(k, _cost(k, work.recipe, device, layout, fused)) for k in found])
        for key, found in groups.items()
    ]
    return StepLimit(device, work.recipe, layout, fused, work.batch, tuple(layers))


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
    """Return the limits of a model's step with momentum for several recipes, by their names.

    Recipes that launch the same kernels, as FP32 and TF32 do, are rehearsed once.
    """
    works: dict[tuple[str, bool], Workload] = {}
    found = {}
    for recipe in recipes:
        rule = find_recipe(recipe)
        same = (rule.rehearsed, rule.scaler)
        if same not in works:
            works[same] = workload(model, inputs, recipe)
        found[recipe] = step_limit(replace(works[same], recipe=recipe), device, layout)
    return found


def arithmetic(kernel: Kernel, recipe: str, device: Device) -> str:
    """Return the type in which a kernel computes under a recipe on a device; "" if none counts."""
    if not kernel.fmt:
        return ""
    rule = find_recipe(recipe)
    if kernel.fmt == "half":
        return rule.half
    wanted = rule.convolution if kernel.kind == "convolution" else rule.matmul
    return wanted if wanted in device.peaks else "fp32"


def _cost(
    kernel: Kernel, recipe: str, device: Device, layout: str, fused: bool
) -> tuple[float, float, int]:
    """Return the least seconds of a kernel, those due to arithmetic, and the bytes it moves."""
    fmt = arithmetic(kernel, recipe, device)
    rate = device.bandwidth * 1e9
    compute = kernel.flops / (device.peak(fmt) * 1e12) if fmt else 0.0
    moved = kernel.bytes
    if fused:
        moved = round(moved * _FUSED.get((kernel.kind, kernel.phase), 1))
    memory = moved / rate
    turned = layout == "NCHW" and fmt in device.tensor_cores
    extra = 2 * kernel.channels_bytes if turned else 0  # kernels of their own: read, write
    seconds = max(compute, memory) + extra / rate
    return seconds, compute if compute > memory else 0.0, moved + extra


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
