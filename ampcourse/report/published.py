"""Published rates of ResNet50 on ImageNet beside the roofline limit of the same device and layout.

Nothing is tuned to fit: device, arithmetic and layout are those that were published, and the limit
follows from the model's layers. It is trusted to 20 %.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ampcourse.benchmark.devices import Device, recognise
from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.records import FOLDER, records
from ampcourse.benchmark.result import Measurement, Result
from ampcourse.report.limits import Network, limit

#: How far a limit may be off.
TRUST = 0.2

#: What ran in all these runs.
IMAGENET = Network("resnet50", "stock", channels=3, classes=1000, pixels=224)

# Every limit is that of this batch, which saves half of the rehearsals: an image costs nearly the
# same in any batch of this order (0.4 % less in one of 512).
_BATCH = 256

_BASES = {"fp32": "fp32", "tf32": "tf32", "fp16": "amp-fp16", "bf16": "amp-bf16"}


@dataclass(frozen=True)
class Rate:
    """One published rate of training and the highest one that the roofline allows there."""

    hardware: str
    recipe: Recipe
    batch: int
    published: float
    limit: float

    @property
    def share(self) -> float:
        """The share of its limit that the run reached; above 1 it beat the model."""
        return self.published / self.limit

    @property
    def name(self) -> str:
        """Arithmetic and layout."""
        return f"{self.recipe.base} {self.recipe.layout}"


@dataclass(frozen=True)
class Pair:
    """Two published rates of one device, and the ratio of their limits if both ran NHWC."""

    baseline: Rate
    other: Rate
    equal_layouts: float
    source: str

    @property
    def published(self) -> float:
        """How many times as fast the other was."""
        return self.other.published / self.baseline.published

    @property
    def limit(self) -> float:
        """The ratio of the limits, layouts as published."""
        return self.other.limit / self.baseline.limit

    @property
    def remarks(self) -> list[str]:
        """Why a rate or a ratio is above a limit, in sentences; empty where none is."""
        found = [above(rate.share, f"{rate.hardware}, {rate.name}") for rate in self._rates]
        reached = (
            f"{self.baseline.name} reached {self.baseline.share:.0%} of its own limit and "
            f"{self.other.name} {self.other.share:.0%}"
        )
        ratio = f"{self.baseline.hardware}: the ratio {self.published:.2f} is above"
        if self.published > self.limit:
            found.append(
                f"{ratio} that of the limits, {self.limit:.2f}, since {reached}: a baseline with "
                "more slack makes a larger ratio."
            )
        elif self.published > self.equal_layouts and self.equal_layouts_matter:
            found.append(
                f"{ratio} {self.equal_layouts:.2f}, the limit if both ran NHWC. Two things changed "
                f"at once: in NCHW {self.baseline.recipe.base} has a lower limit, so that up to "
                f"{self.limit:.2f} is possible; {reached}."
            )
        return [remark for remark in found if remark]

    @property
    def equal_layouts_matter(self) -> bool:
        """Whether two things changed: the arithmetic and, with another ratio, the layout."""
        same_arithmetic = self.baseline.recipe.base == self.other.recipe.base
        return not same_arithmetic and f"{self.limit:.2f}" != f"{self.equal_layouts:.2f}"

    @property
    def _rates(self) -> tuple[Rate, Rate]:
        return self.baseline, self.other


def above(share: float, what: str) -> str:
    """Return why something is above its limit, by the share of it that it reached; "" if not."""
    if share <= 1:
        return ""
    trusted = (
        f"within the {TRUST:.0%} to which the model is trusted"
        if share <= 1 + TRUST
        else f"beyond the {TRUST:.0%} to which the model is trusted"
    )
    return (
        f"{what} is {share - 1:.0%} above its limit, {trusted}. The model moves each tensor "
        "through memory in every kernel: what stays in a cache or is fused costs less."
    )


def pairs() -> list[Pair]:
    """Return the published pairs of rates whose device, layouts and batches are known."""
    return [*_amp_pairs(), *_layout_pairs()]


def _amp_pairs() -> Iterator[Pair]:
    """Yield FP32 or TF32 against mixed precision, from the course's records."""
    for result in records("published"):
        device = _device(result.hardware)
        if result.unit == "images/s" and device and "memory_format" in result.flags:
            baseline, other = _of_result(result, device)
            yield _pair(device, baseline, other, result.source)


def _of_result(result: Result, device: Device) -> Iterator[Rate]:
    runs: tuple[tuple[Measurement, str], ...] = ((result.baseline, "baseline_"), (result.amp, ""))
    for run, prefix in runs:
        layout = "NHWC" if "nhwc" in result.flags[f"{prefix}memory_format"] else "NCHW"
        batch = result.flags[f"{prefix}batch"]
        yield _rate(result.hardware, device, run.precision, layout, batch, run.value)


def _layout_pairs() -> Iterator[Pair]:
    """Yield one arithmetic in two layouts, from the folder rates of the records."""
    for path in sorted((FOLDER / "rates").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        device = _device(data["hardware"])
        if device is None:
            raise ValueError(f"{path}: no peaks are quoted for {data['hardware']!r}")
        first, second = _of_rates(data, device)
        yield _pair(device, first, second, data["source"])


def _of_rates(data: dict[str, Any], device: Device) -> Iterator[Rate]:
    for rate in data["rates"]:
        values = (rate[name] for name in ("precision", "layout", "batch", "images_per_s"))
        yield _rate(data["hardware"], device, *values)


def _rate(
    hardware: str, device: Device, precision: str, layout: str, batch: int, published: float
) -> Rate:
    recipe = Recipe(_BASES[precision], layout)
    return Rate(hardware, recipe, batch, published, _known_limit(device, recipe))


def _pair(device: Device, baseline: Rate, other: Rate, source: str) -> Pair:
    first, second = (
        _known_limit(device, Recipe(rate.recipe.base, "NHWC")) for rate in (baseline, other)
    )
    return Pair(baseline, other, second / first, source)


def _known_limit(device: Device, recipe: Recipe) -> float:
    found = limit(IMAGENET, device, recipe, _BATCH)
    if found is None:
        raise ValueError(f"{device.name} has no peak for {recipe}, yet a rate was published")
    return found


def _device(hardware: str) -> Device | None:
    return recognise(hardware.replace(" GB", "GB"))  # as torch.cuda has it: A100-SXM4-80GB
