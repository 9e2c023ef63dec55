"""Every word of the scaler scrubber, in one place, so that another language needs one other file.

SCALER_LABELS goes to the browser as it stands. Markup is that of `numerals`.
"""

from __future__ import annotations

SCALER_LABELS = {
    "step": "Step",
    "of": "of",
    "inject": "Inject an inf at this step",
    "clear": "Remove all infs",
    "settings": "Settings",
    "init_scale": "First scale",
    "growth_factor": "Growth factor",
    "backoff_factor": "Backoff factor",
    "growth_interval": "Growth interval",
    "timeline": "Loss scale and growth tracker before each step",
    "scale_axis": "loss scale",
    "event_axis": "event",
    "tracker_axis": "tracker",
    "legend_skipped": "inf found, step skipped, scale backed off",
    "legend_grown": "interval complete, scale grown",
    "legend_shown": "step shown below",
    "rule": "What the rule does",
    "here": "this step",
    "readouts": "Read-outs",
    "full": "All digits",
    "silent": "The kernel does not answer: it is busy, or it was restarted. "
    "If it stays silent, run the cell again.",
}

TERMS = {
    "before": "Before the step",
    "found_inf": "found_inf",
    "decision": "Decision",
    "scale": "Scale after",
    "tracker": "Tracker after",
}

#: Short forms for the text picture.
EVENTS = {
    "counted": "taken",
    "grown": "taken, scale grows",
    "capped": "taken, scale stays",
    "skipped": "skipped, scale backs off",
}


def times(count: int) -> str:
    """Count good steps."""
    return "1 good step" if count == 1 else f"{count} good steps in a row"


def settings(scale: str, growth: str, backoff: str, interval: int) -> str:
    """Say the rule's settings."""
    grows = f"times {growth} after {times(interval)}"
    return f"from {scale}: {grows}, times {backoff} when an inf is found"


def transitions(growth: str, backoff: str, interval: int) -> list[list[str]]:
    """Return key, condition and action for the three things that can happen in a step."""
    return [
        [
            "counted",
            f"no inf, fewer than {times(interval)}",
            "optimizer steps; tracker + 1",
        ],
        [
            "grown",
            f"no inf, {times(interval)}",
            f"optimizer steps; scale × {growth}, tracker back to 0",
        ],
        [
            "skipped",
            "an inf or a NaN in a gradient",
            f"step skipped; scale × {backoff}, tracker back to 0",
        ],
    ]


def before(scale: str, tracker: int, interval: int) -> str:
    """Say what a step starts from."""
    return f"scale {scale}, tracker {tracker} of {interval}"


def found(is_found: bool) -> str:
    """Say what the check of the gradients says."""
    if is_found:
        return "1: some gradient is inf or NaN"
    return "0: every gradient is finite"


def decision(event: str, scale: str) -> str:
    """Say what becomes of the optimizer step."""
    if event == "skipped":
        return "step skipped: parameters and the optimizer's state stay as they are"
    return f"step taken: gradients are divided by {scale}, then the optimizer steps"


def scale_after(event: str, before: str, after: str, factor: str) -> str:
    """Say where the scale goes, and why."""
    return {
        "skipped": f"{after}: backed off, {before} × {factor}",
        "grown": f"{after}: grown, {before} × {factor}",
        "capped": f"{after}: would grow, but times {factor} float32 has no such number",
        "counted": f"{after}: unchanged",
    }[event]


def tracker_after(event: str, tracker: int, interval: int) -> str:
    """Say where the growth tracker goes, and why."""
    if event == "skipped":
        return "0: an inf starts the count again"
    if event in ("grown", "capped"):
        return f"0: {times(interval)}, so the count starts again"
    return f"{tracker} of {interval} good steps"


def sentence(number: int, event: str, before: str, after: str, tracker: int, interval: int) -> str:
    """Tell a step in one sentence."""
    told = {
        "skipped": f"an inf at scale {before}; the step is skipped and the scale backs off to "
        f"{after}.",
        "grown": f"no inf at scale {before}; {times(interval)}, so the scale grows to {after}.",
        "capped": f"no inf at scale {before}; it cannot grow any more.",
        "counted": f"no inf at scale {before}; {tracker} of {interval} good steps.",
    }[event]
    return f"Step {number}: {told}"


def wants_factor(name: str, typed: str) -> str:
    """Refuse a factor."""
    legal = "larger than 1" if name == "growth_factor" else "between 0 and 1"
    return f"{SCALER_LABELS[name].lower()} {typed} is not {legal}"


def wants_scale(typed: str) -> str:
    """Refuse a first scale."""
    return f"first scale {typed} is no positive number of float32"


def wants_count(name: str, given: object, lowest: int, highest: int) -> str:
    """Refuse a number of steps or an interval."""
    return f"{name} is {given!r}; it goes from {lowest} to {highest}"
