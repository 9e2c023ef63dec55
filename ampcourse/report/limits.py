"""The roofline limit of a rate, from the layers of the model that ran.

Rehearsing a ResNet50 takes seconds; each kind of step at each batch is rehearsed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ampcourse.benchmark.devices import Device, recognise
from ampcourse.benchmark.layers import Workload, find_recipe, workload
from ampcourse.benchmark.recipes import Recipe, parse
from ampcourse.benchmark.roofline import step_limit


@dataclass(frozen=True)
class Network:
    """A model of benchmark.models and the images it gets."""

    model: str = "resnet50"
    stem: str = "stock"
    channels: int = 3
    classes: int = 1000
    pixels: int = 224


def limit(network: Network, device: str | Device, recipe: Recipe, batch: int) -> float | None:
    """Return the highest images per second, or None for a type the device has no peak for."""
    rule = find_recipe(recipe.arithmetic)
    work = _rehearsed(network, rule.rehearsed, rule.scaler, batch)
    try:
        return step_limit(
            replace(work, recipe=recipe.arithmetic), device, recipe.layout, fused=recipe.compiled
        ).images_per_second
    except ValueError:  # such as BF16 on a V100
        return None


@cache
def _rehearsed(network: Network, rehearsed: str, scaler: bool, batch: int) -> Workload:
    import torch

    from ampcourse.benchmark import layers, models

    name = next(
        name
        for name, rule in layers.RECIPES.items()
        if (rule.rehearsed, rule.scaler) == (rehearsed, scaler)
    )
    with torch.device("meta"):
        model = models.build(network.model, network.channels, network.classes, network.stem)
    return workload(model, (batch, network.channels, network.pixels, network.pixels), name)


def row_limit(row: Mapping[str, Any]) -> float | None:
    """Return the limit of a "throughput" row: the one in it, else computed; None if unknown.

    Known are the devices that are quoted, and CPUs whose own peaks are in the row.
    """
    if row.get("roofline_images_per_s"):
        return float(row["roofline_images_per_s"])
    device = row_device(row)
    if device is None or row.get("checkpointing"):
        return None  # a checkpointed step computes more than a rehearsal of the model shows
    network = Network(row["model"], row["stem"], row["channels"], row["classes"], row["image_size"])
    world = row.get("world_size") or 1
    one = limit(network, device, parse(row["recipe"]), row["batch"] // world)
    return None if one is None else one * world


def row_device(row: Mapping[str, Any]) -> Device | None:
    """Return what a row's device can do at most: quoted, or as it was measured; None if unknown."""
    machine = row["machine"]
    if machine.get("kind") == "cuda":
        return recognise(machine["name"])
    peaks = machine.get("peaks")
    if not peaks:
        return None
    return Device(
        peaks["name"],
        peaks["kind"],
        peaks["tflops"],
        peaks["gbytes_per_s"],
        frozenset(),
        "matrix products and a sum of long arrays, by torch",
    )
