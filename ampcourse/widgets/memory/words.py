"""Every word of the memory widgets, in one place, so that another language needs one other file.

The LABELS go to the browser as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence

_SILENT = (
    "The kernel does not answer: it is busy, or it was restarted. "
    "If it stays silent, run the cell again."
)

LEDGER_LABELS = {
    "workload": "Model",
    "optimizer": "Optimizer",
    "recipe": "Recipe",
    "batch": "Batch",
    "toggles": "Its assumptions, one by one",
    "bars": "Memory at two moments of a step",
    "table": "Each thing that is held",
    "what": "what",
    "type": "type",
    "each": "bytes per parameter",
    "all": "in this model",
    "peak": "peak",
    "silent": _SILENT,
}

SEGMENT_LABELS = {
    "layers": "Layers",
    "segments": "Segments",
    "chain": "The chain when most is held",
    "curve": "Inputs held at most, by number of segments",
    "kept": "kept: the input of a segment",
    "held": "held: the segment in its backward pass",
    "free": "not held",
    "here": "chosen",
    "least": "least",
    "silent": _SILENT,
}

OPTIMIZERS = {"sgd": "SGD", "momentum": "SGD, momentum", "adam": "Adam"}
RECIPES = {"fp32": "FP32", "autocast": "autocast", "O2": "O2", "half": "pure half"}
OWN_RECIPE = "own"

TOGGLES = {
    "weights": "weights in 16 bits",
    "gradients": "gradients in 16 bits",
    "state": "optimizer state in 16 bits",
    "master_weights": "FP32 master weights",
    "master_gradients": "FP32 master gradients",
    "casts": "16-bit casts of the weights",
}

MOMENTS = ("end of forward", "optimizer's step")
REFERENCE = "FP32's peak"
ACTIVATIONS = "activations"
TYPES = {"fp32": "FP32", "half": "16 bits", "mixed": "16 bits mostly"}

#: A letter for each use, so that no bar depends on colour alone.
LETTERS = {
    "weights": "W",
    "master weights": "M",
    "weight casts": "C",
    "gradients": "G",
    "master gradients": "D",
    "first moment": "S",
    "second moment": "T",
    "momentum": "S",
    ACTIVATIONS: "A",
}

LEGAL_BATCH = "a batch is a power of two from 1 to {}"


def size(count: int) -> str:
    """Write a number of bytes.

    >>> size(999), size(25_557_032 * 16), size(0)
    ('999 B', '390 MiB', '0 B')
    """
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1000 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.3g} {unit}"


def per_parameter(forward: int, kept: int, every: int) -> str:
    """Say what a parameter costs."""
    if every in (forward, kept):
        return f"{every} bytes per parameter"
    return f"{every} bytes per parameter in all, never all at once: {forward}, then {kept}"


def quoted(figures: Sequence[tuple[str, int]]) -> str:
    """Name the texts that give this number for Adam under these assumptions."""
    if not figures:
        return "No text that we quote assumes this."
    return "Quoted: " + "; ".join(f"{name}, {count} bytes" for name, count in figures)


def sentence(name: str, moment: str, peak: int, share: float, activations: float) -> str:
    """Tell the peak, against FP32's, and what it consists of."""
    return (
        f"{name}: the peak is {size(peak)}, at the {moment}: {share:.0%} of FP32's peak. "
        f"Activations are {activations:.0%} of it."
    )


def unknown(what: str, value: object, legal: Sequence[str]) -> str:
    """Refuse a choice."""
    return f"{what} {value!r} is unknown; choose from {', '.join(legal)}"


MASTERS_OF_FP32 = (
    "FP32 masters of weights that are in FP32 already would be the same numbers twice: "
    "first put the weights into 16 bits, or take the masters away"
)


def layers(value: int, most: int) -> str:
    """Refuse a number of layers."""
    return f"layers={value} must be from 1 to {most}"


def segment_sentence(
    layers: int, segments: int, peak: int, recomputed: int, best: Sequence[int]
) -> str:
    """Tell what a division costs, and which one is best."""
    work = 1 + recomputed / (3 * layers)
    named = f"{best[0]}" if len(best) == 1 else f"{best[0]} to {best[-1]}"
    return (
        f"{layers} layers in {segments} segment{'s' * (segments > 1)}: at most {peak} of {layers} "
        f"inputs held, {recomputed} layers run forward twice, about {work:.2f} times the work. "
        f"Least is held with {named}."
    )
