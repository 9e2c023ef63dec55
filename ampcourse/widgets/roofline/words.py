"""Every word of the roofline explorer, in one place, so that another language needs one file.

LABELS goes to the browser as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

#: The name of the op that can be moved, and of the sum of all layers.
OWN = "your convolution"
STEP = "the whole step"

LABELS = {
    "device": "Device",
    "recipe": "Recipe",
    "layer": "Layer",
    "window": "Your convolution",
    "channels": "Channels",
    "readouts": "The chosen layer",
    "full": "All digits",
    "x": "operations per byte",
    "y": "TFLOP/s",
    "strip": "No matrix arithmetic: memory alone",
    "legend_arithmetic": "limited by arithmetic",
    "legend_memory": "limited by memory",
    "legend_own": "your convolution",
    "legend_size": "area: share of the step",
    "legend_fp32": "roof in FP32",
    "silent": "The kernel does not answer: it is busy, or it was restarted. "
    "If it stays silent, run the cell again.",
}

RECIPES = {"fp32": "FP32", "tf32": "TF32", "amp-fp16": "AMP, FP16"}
WINDOWS = {1: "1×1", 3: "3×3", 7: "7×7"}

_KINDS = {
    "batch norm": "all batch norms",
    "relu": "all ReLUs",
    "add": "all sums",
    "pooling": "all poolings",
    "cast": "all casts",
    "other": "loss and optimizer",
}
ALL = frozenset(_KINDS.values())

TERMS = {
    "operations": "Operations",
    "bytes": "Bytes",
    "intensity": "Per byte",
    "limit": "Limited by",
    "time": "Least time",
    "rate": "Reaches",
    "against": "Over FP32",
    "step": "The step",
}


def kind(name: str) -> str:
    """Return what all layers of a kind are called together."""
    return _KINDS.get(name, f"all of kind {name}")


def operations(flops: int) -> str:
    """Write operations."""
    return f"{_short(flops / 1e9)} GFLOP" if flops else "none that count"


def moved(count: int) -> str:
    """Write bytes."""
    return f"{_short(count / 1e6)} MB"


def intensity(value: float, ridge: float) -> str:
    """Write operations per byte beside the ridge."""
    return f"{_short(value)}; the ridge is at {_short(ridge)}"


def bound(by: str) -> str:
    """Say what limits."""
    return {"arithmetic": "arithmetic", "memory": "memory"}[by]


def time(seconds: float, share: float | None) -> str:
    """Write a least time and its share of the step; the own op has none."""
    text = f"{_short(1000 * seconds)} ms"
    return text if share is None else f"{text}, {_percent(share)} of the step"


def rate(tflops: float, peak: float) -> str:
    """Write a rate beside the peak."""
    share = _percent(tflops / peak)
    return f"{_short(tflops)} TFLOP/s, {share} of the peak" if tflops else "–"


def against(ratio: float | None) -> str:
    """Write a ratio of times; None for what FP32 has nothing of."""
    return "FP32 has none" if ratio is None else f"{ratio:.2f} times as fast"


def step(seconds: float, images: float, ratio: float) -> str:
    """Tell the whole step."""
    return f"{1000 * seconds:.0f} ms, {images:.0f} images/s, {ratio:.2f} times FP32"


def channels(count: int) -> str:
    """Say where the slider stands."""
    return f"{count} in and out"


def sentence(
    name: str, device: str, recipe: str, by: str, ratio: float | None, total: float
) -> str:
    """Tell the chosen layer and the step in one sentence."""
    start = f"{device}, {RECIPES[recipe]}: {name}, limited by {bound(by)}"
    if name == STEP:
        return f"{start}: {total:.2f} times as fast as in FP32 if both reach their limits."
    found = against(ratio) if ratio is None else f"{against(ratio)} as in FP32"
    return f"{start}: {found}; {STEP}: {total:.2f} times if both reach their limits."


def title(name: str, share: float) -> str:
    """Name a dot."""
    return f"{name}, {_percent(share)}"


def share(value: float) -> str:
    """Write a share of the step."""
    return _percent(value)


def unknown(what: str, value: object, legal: Sequence[str]) -> str:
    """Refuse a choice."""
    return f"{what} {value!r} is unknown; choose from {', '.join(legal)}"


def wants_works(missing: Sequence[str]) -> str:
    """Refuse kernels that lack a recipe."""
    return (
        f"works lacks {', '.join(missing)}; pass {{recipe: workload(model, shape, recipe)}} for "
        "fp32 and amp-fp16, of ampcourse.benchmark.layers"
    )


def wants_own(window: int, power: int) -> str:
    """Refuse a convolution that the controls do not have."""
    return (
        f"a {window}×{window} convolution with 2^{power} channels is not among the choices; take "
        "a window of 1, 3 or 7 and 2^3 to 2^11 channels"
    )


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %" if value >= 0.0095 or value == 0 else "under 1 %"
