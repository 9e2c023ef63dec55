"""Rows as a benchmark writes them, made up for tests."""

from __future__ import annotations

from typing import Any

MACHINE = {
    "name": "NVIDIA H200",
    "kind": "cuda",
    "torch": "2.14.1",
    "cuda": "13.0",
    "driver": "580.1",
    "date": "2026-11-30",
    "clocks_before": {"sm_mhz": 1980.0, "temperature_c": None},
}

_SETTING = {
    "status": "ok",
    "model": "tiny",
    "stem": "3x3",
    "image_size": 16,
    "channels": 1,
    "classes": 10,
    "batch": 64,
    "world_size": 1,
    "data": {"name": "synthetic", "source": "synthetic noise"},
    "machine": MACHINE,
}


def rate(recipe: str, images_per_s: float, **more: Any) -> dict[str, Any]:
    """Return a throughput row; its limit is 10,000 images/s and its baseline fp32 at 1,000."""
    row = {
        "kind": "throughput",
        "recipe": recipe,
        "images_per_s": images_per_s,
        "baseline": "fp32",
        "ratio": images_per_s / 1000,
        "ratio_interval": [images_per_s / 1010, images_per_s / 990],
        "host_bound": False,
        "peak_allocated": 12_000_000,
        "roofline_images_per_s": 10_000.0,
    }
    return {**_SETTING, **row, **more}


def training(recipe: str, seed: int, accuracy: float, **more: Any) -> dict[str, Any]:
    """Return a training row of two epochs."""
    scores = dict.fromkeys(("test_accuracy", "precision", "recall", "f1"), accuracy)
    epoch = {"loss": 0.5, "test_loss": 0.6, **scores, "seconds": 2.0, "evaluation_s": 1.0}
    row = {
        "kind": "training",
        "recipe": recipe,
        "seed": seed,
        "epochs": [epoch, epoch],
        "final": epoch,
        "wall_s": 8.0 if recipe == "fp32" else 4.0,
        "skipped_steps": 1,
        "flushed_share": [{"step": 1, "below": 0.25, "zero": 0.5}],
    }
    return {**_SETTING, **row, **more}


def largest(recipe: str, batch: int) -> dict[str, Any]:
    """Return a row of the largest batch."""
    return {**_SETTING, "kind": "largest_batch", "recipe": recipe, "batch": batch}
