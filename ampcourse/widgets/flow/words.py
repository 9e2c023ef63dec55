"""Every word of the type-flow graph, in one place, so that another language needs one other file.

LABELS goes to the browser as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

LABELS = {
    "net": "Net",
    "device": "Device",
    "lower": "Type of the region",
    "graph": "Ops in the order of the forward pass",
    "readouts": "The chosen op",
    "full": "All digits",
    "legend_wide": "float32",
    "legend_narrow": "16 bits",
    "legend_cast": "cast on the way in",
    "legend_refused": "no result",
    "silent": "The kernel does not answer: it is busy, or it was restarted. "
    "If it stays silent, run the cell again.",
}

NETS = {"small_cnn": "small CNN", "transformer": "transformer block", "pitfalls": "pitfalls"}
DEVICES = {"cpu": "CPU", "cuda": "CUDA"}

#: Sign and short name of each list.
BADGES = {
    "input": ("", "input"),
    "lower_precision": ("↓", "16 bits"),
    "fp32": ("↑", "float32"),
    "promote": ("⇈", "widest"),
    "follows_input": ("=", "on no list"),
    "error": ("✕", "refused"),
}

TERMS = {
    "op": "Op",
    "list": "List",
    "inputs": "Reads",
    "weights": "Weights",
    "output": "Gives",
    "other": "Elsewhere",
    "evidence": "Known from",
}

_LISTS = {
    "input": "the batch, as the loader gives it",
    "lower_precision": "lower precision: inputs are cast to {lower}",
    "fp32": "float32: inputs are cast to float32",
    "promote": "widest type: inputs are cast to float32 if one of them is float32",
    "follows_input": "on no list: runs in the type of its inputs, as without autocast",
    "error": "refused under autocast: use binary_cross_entropy_with_logits",
}


def listed(category: str, lower: str) -> str:
    """Say what the op's list does."""
    return _LISTS[category].format(lower=lower)


def reads(name: str, kind: str, target: str) -> str:
    """Say in which type an input arrives and what becomes of it."""
    return f"{name}: {kind}, cast to {target}" if target not in ("", kind) else f"{name}: {kind}"


def weights(names: Sequence[str], target: str) -> str:
    """Say what becomes of the weights."""
    if not names:
        return "none"
    text = " and ".join(names)
    if target in ("", "float32"):
        return f"{text}: float32, as they are"
    return f"{text}: float32, cast to {target} once in the region, kept in float32"


def gives(kind: str, refused: bool) -> str:
    """Say the type that comes out."""
    if kind != "nothing":
        return kind
    return "an error" if refused else "nothing: an op before it refuses to run"


def elsewhere(device: str, badge: str, kind: str) -> str:
    """Say what the other device type makes of the op."""
    given = "an error" if kind == "nothing" else kind
    return f"{DEVICES[device]}: {badge}, gives {given}"


def evidence(text: str) -> str:
    """Say what the op's line in the table rests on."""
    return text or "not in the table of this device: such ops follow their inputs"


def sentence(name: str, op: str, category: str, given: str) -> str:
    """Tell an op in one sentence."""
    if category == "input":
        return f"{name} is the input, in {given}."
    if given == "nothing":
        return f"{name} = {op}: gives no result here."
    what = {
        "lower_precision": "is on the lower-precision list",
        "fp32": "is on the float32 list",
        "promote": "takes the widest type of its inputs",
        "follows_input": "is on no list and follows its inputs",
    }[category]
    return f"{name} = {op}: {what}; gives {given}."


def summary(device: str, lower: str, low: int, ops: int, activations: int, weights: int) -> str:
    """Count what happens in the whole net."""
    cast = f"{activations} activations and {weights} weights and biases are cast"
    return f"{DEVICES[device]}, {lower}: {low} of {ops} ops give {lower}; {cast}."


def unknown(what: str, value: object, legal: Sequence[str]) -> str:
    """Refuse a choice."""
    return f"{what} {value!r} is unknown; choose from {', '.join(legal)}"
