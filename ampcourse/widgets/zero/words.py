"""Every word of the shard painter, in one place, so that another language needs one other file.

LABELS go to the browser as they stand. Bytes are in powers of ten, as in the ZeRO paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ampcourse.widgets.bits import words

#: Each part with its letter, so that none depends on colour alone.
PARTS = {"weights": "W", "gradients": "G", "optimizer state": "S"}
#: The rows of the table after the parts.
SUM, SENT = "a rank keeps", "and sends per step"

LABELS: dict[str, Any] = {
    "stage": "ZeRO stage",
    "ranks": "Ranks",
    "parameters": "Parameters",
    "optimizer": "Optimizer",
    "recipe": "Numbers",
    "painting": "What each rank keeps",
    "table": "All stages",
    "chosen": "chosen",
    "parts": PARTS,
    "away": "kept by another rank",
    "silent": words.LABELS["silent"],
}

STAGES = {
    0: "0: nothing divided (DDP)",
    1: "1: optimizer state",
    2: "2: and gradients",
    3: "3: and weights (FSDP2)",
}
OPTIMIZERS = {"sgd": "SGD", "momentum": "SGD, momentum", "adam": "Adam"}
#: The same as heads of columns.
COLUMNS = {0: "0 (DDP)", 1: "1", 2: "2", 3: "3 (FSDP2)"}
RECIPES = {
    "masters": "16 bits, FP32 masters",
    "autocast": "FP32, autocast",
    "half": "16 bits only",
}
MORE = "⋮"


def size(count: int) -> str:
    """Write a number of bytes in powers of ten, as memory and links are sold.

    >>> size(999), size(31_406_250_000), size(1_875_000_000)
    ('999 B', '31.4 GB', '1.88 GB')
    """
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:#.3g}".rstrip(".") + f" {unit}"


def parameters(count: int) -> str:
    """Write a number of parameters.

    >>> parameters(25_557_032), parameters(7_500_000_000), parameters(12)
    ('25.6 million', '7.5 billion', '12')
    """
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return str(count)


def rank(number: int, total: str) -> str:
    """Name a rank and what it keeps."""
    return f"rank {number}: {total}"


def more(count: int) -> str:
    """Stand for the ranks that are not drawn."""
    return f"{count} more ranks, each with as much"


def part(name: str, size: str, share: str) -> str:
    """Tell one part of one rank."""
    return f"{name}: {share}, {size}"


def share(ranks: int, divided: bool) -> str:
    """Say how much of a part a rank keeps."""
    return f"1/{ranks} of it" if divided and ranks > 1 else "all of it"


def padding(numbers: int) -> str:
    """Say that the division leaves a rest."""
    if not numbers:
        return ""
    plural = "" if numbers == 1 else "s"
    return f" The ranks cannot share evenly: the last is padded with {numbers} number{plural}."


def sentence(
    stage: int, ranks: int, count: str, total: str, whole: str, sent: str, relative: float
) -> str:
    """Tell the state in one sentence."""
    plural = "" if ranks == 1 else "s"
    traffic = "no rank sends anything"
    if ranks > 1:
        compared = "as much as" if relative == 1 else f"{relative:.3g} times as much as"
        traffic = f"each sends {sent} per step, {compared} DDP"
    return (
        f"Stage {stage}, {ranks} rank{plural}, {count} parameters: a rank keeps {total} "
        f"(DDP: {whole}); {traffic}."
    )


def policy(sent: str) -> str:
    """Tell what FSDP2's policy changes."""
    return (
        f"With FSDP2's MixedPrecisionPolicy(param_dtype=torch.bfloat16) weights are gathered in "
        f"16 bits, and each rank sends {sent} in stage 3."
    )


LEFT_OUT = (
    "Left out: activations, buffers for sending, and the layer that stage 3 gathers while it runs. "
    "Sending is counted for ring algorithms; 1 GB is 10^{9} bytes."
)


def no_parameters(count: int) -> str:
    """Refuse a number of parameters."""
    return f"parameters={count} must be 1 or more"


def unknown(what: str, value: object, legal: Sequence[object]) -> str:
    """Refuse a choice."""
    return f"{what} {value!r} is unknown; choose from {', '.join(map(str, legal))}"
