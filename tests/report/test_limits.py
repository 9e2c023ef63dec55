"""A row's limit is the one it brings, or that of its model, recipe and batch on its device."""

from __future__ import annotations

from typing import Any

import pytest

from ampcourse.benchmark import models
from ampcourse.benchmark.devices import Device
from ampcourse.benchmark.layers import workload
from ampcourse.benchmark.roofline import limits, step_limit
from ampcourse.report.limits import row_limit
from tests.report.made_rows import MACHINE, rate

MODEL = models.build("tiny", stem="3x3")
SHAPE = (64, 1, 16, 16)


def limit_of(recipe: str, **more: Any) -> float | None:
    return row_limit(rate(recipe, 1.0, **{"roofline_images_per_s": None, **more}))


def test_the_limit_in_a_row_is_taken() -> None:
    assert row_limit(rate("fp32", 1.0)) == 10_000.0


@pytest.mark.parametrize(
    ("recipe", "name", "layout"),
    [
        ("fp32", "fp32", "NCHW"),
        ("tf32+nhwc", "tf32", "NHWC"),
        ("amp-fp16", "amp-fp16", "NCHW"),
        ("amp-fp16-ours+nhwc", "amp-fp16", "NHWC"),
        ("O2+nhwc", "O2", "NHWC"),
    ],
)
def test_else_it_is_the_rooflines_for_the_same_model(recipe: str, name: str, layout: str) -> None:
    expected = limits(MODEL, SHAPE, "H200", [name], layout)[name].images_per_second
    assert limit_of(recipe) == expected


def test_a_compiled_step_has_the_limit_of_fused_kernels() -> None:
    work = workload(MODEL, SHAPE, "amp-bf16")
    fused = step_limit(work, "H200", "NHWC", fused=True).images_per_second
    assert limit_of("amp-bf16+nhwc+compile") == fused > limit_of("amp-bf16+nhwc")  # type: ignore[operator]


def test_processes_add_up_each_with_its_part_of_the_batch() -> None:
    one = limit_of("fp32", batch=32)
    assert one is not None
    assert limit_of("fp32", batch=64, world_size=2) == 2 * one


def test_a_cpus_limit_follows_from_what_was_measured_on_it() -> None:
    cpu = {"name": "a CPU", "kind": "cpu"}
    assert limit_of("fp32", machine=cpu) is None
    peaks = {"name": "a CPU", "kind": "measured", "tflops": {"fp32": 0.1}, "gbytes_per_s": 10.0}
    device = Device("a CPU", "measured", {"fp32": 0.1}, 10.0, frozenset(), "a test")
    expected = limits(MODEL, SHAPE, device, ["fp32"], "NCHW")["fp32"].images_per_second
    assert limit_of("fp32", machine=cpu | {"peaks": peaks}) == expected
    assert limit_of("amp-bf16", machine=cpu | {"peaks": peaks}) is None  # no such peak


@pytest.mark.parametrize(
    "more", [{"machine": MACHINE | {"name": "NVIDIA RTX 6090"}}, {"checkpointing": True}]
)
def test_what_cannot_be_known_is_none(more: dict[str, Any]) -> None:
    assert limit_of("fp32", **more) is None
