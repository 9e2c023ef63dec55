"""Every word the gradient window shows, in one place, so that a translation needs one file.

LABELS go to the browser as they stand; the sentences serve Python. Markup is that of `numerals`.
"""

from __future__ import annotations

from ampcourse.widgets.bits import words

LABELS = {
    "formats": words.LABELS["formats"],
    "heights": "Bar height",
    "layer": "Layer",
    "step": "Step",
    "scale": "Loss scale",
    "all": "All values",
    "readouts": words.LABELS["readouts"],
    "full": words.LABELS["full"],
    "silent": words.LABELS["silent"],
}

HEIGHTS = {"share": "share", "log": "log of the count"}

#: The parts of the range, as they are written over the chart.
REGIONS = {
    "below": "too small",
    "subnormal": "subnormal",
    "normal": "normal",
    "above": "too large",
}

#: The classes that all values fall into, in the order of the bar under the chart.
CLASSES = {
    "zeros": "true zeros",
    "flushed": "flushed to 0",
    "subnormal": "subnormal",
    "normal": "normal",
    "overflow": "overflow",
    "not_finite": "inf or NaN",
}

TERMS = {
    "values": "Values",
    "zeros": "True zeros",
    "flushed": "Flushed to 0",
    "subnormal": "Subnormal",
    "normal": "Normal",
    "overflow": "Overflow",
    "not_finite": "Inf or NaN",
    "headroom": "Headroom",
}

EMPTY = "no values"
UNNAMED = "values"
NONE = "none"
NO_HEADROOM = "none: no finite value differs from 0"
AXIS = "exponent of the scaled value"


def count(number: int) -> str:
    """Write a count with spaces between its thousands."""
    return (
        f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") if number >= 10_000 else str(number)
    )


def percent(part: int, whole: int) -> str:
    """Write a share: 0 % and 100 % only where that is so exactly."""
    if not part or not whole:
        return "0 %"
    share = 100 * part / whole
    if share < 0.1:
        return "< 0.1 %"
    if share > 99.9 and part < whole:
        return "> 99.9 %"
    return f"{share:.1f} %" if part < whole else "100 %"


def values(total: int, population: int, nonzero: int) -> str:
    """Say how many values were counted."""
    sampled = f", a sample of {count(population)}" if population > total else ""
    return f"{count(total)}{sampled}; {count(nonzero)} not 0"


def share(part: int, total: int) -> str:
    """Say how many values are in a class."""
    return f"{percent(part, total)} of all, {count(part)}"


def flushed(part: int, total: int, nonzero: int) -> str:
    """Say how many values become zero, of all and of those that are not zero."""
    return f"{share(part, total)}; {percent(part, nonzero)} of those not 0"


def of_them(told: str, part: int) -> str:
    """Add what of the subnormals a histogram of exponents cannot tell."""
    return f"{told}; up to {count(part)} of them may round up to normal" if part else told


def more(told: str, part: int) -> str:
    """Add what of the overflows a histogram of exponents cannot tell."""
    return f"{told}; up to {count(part)} more in the top binade" if part else told


def headroom(doublings: int, largest: str) -> str:
    """Say how many doublings are left before the largest value overflows."""
    if doublings < 0:
        return f"{doublings} binades: the largest, {largest} after scaling, overflows"
    plural = "" if doublings == 1 else "s"
    return f"{doublings} binade{plural} above the largest, {largest} after scaling"


def bar(power: str, number: int, share: str, fate: str) -> str:
    """Tell what a bar holds, for the mouse that rests on it."""
    plural = "" if number == 1 else "s"
    return f"2^{power}: {count(number)} value{plural}, {share}; {fate}"


def beyond(column: int) -> str:
    """Say that an outermost bar holds everything beyond it, too."""
    return f"{column} and beyond"


def at_most(share: str) -> str:
    """Say that a share is an upper bound."""
    return f"at most {share}"


def step(number: int, place: int, steps: int) -> str:
    """Name a step."""
    return f"{number} ({place} of {steps})"


def scale_spoken(shift: int) -> str:
    """Say a loss scale."""
    return f"2 to the {shift}, {2**shift}"


def sentence(
    label: str, name: str, shift: int, flushed: str, subnormal: str, overflow: str, rest: str
) -> str:
    """Tell the whole state in one sentence."""
    return (
        f"{label} in {name}, loss scale {count(2**shift)}: of the values that are not 0, {flushed} "
        f"are flushed to 0, {subnormal} are subnormal, {overflow} overflow; {rest}."
    )


def sentence_headroom(doublings: int) -> str:
    """End the sentence with the headroom."""
    return f"headroom {doublings} binade{'' if abs(doublings) == 1 else 's'}"


def sentence_empty(label: str, name: str, shift: int) -> str:
    """Tell that there is nothing to scale."""
    return f"{label} in {name}, loss scale {count(2**shift)}: no finite value differs from 0."


def wants_histograms(found: object) -> str:
    """Refuse what is not histograms."""
    return (
        f"{type(found).__name__} is no histogram; pass what ampcourse.dynamic_range's "
        "exponent_histogram or GradientRecorder.histograms return, their as_plain(), a dict of "
        "these by layer, or a dict of such dicts by step"
    )


def wants_key(keys: list[str]) -> str:
    """Refuse plain data that lacks something."""
    return f"the histogram lacks {', '.join(keys)}; pass what ExponentHistogram.as_plain() returns"


def wants_bins(label: str) -> str:
    """Refuse plain data whose lists do not fit together."""
    return (
        f"the bins of {label!r} do not fit: exponents must be consecutive, with one count and one "
        "number of powers of two each, none negative"
    )


def wants_some() -> str:
    """Refuse an empty collection."""
    return "there is no histogram to show; record at least one step, or pass one histogram"


def wants_names(label: str) -> str:
    """Refuse two histograms under one name."""
    return f"two histograms are called {label!r}; give them labels of their own, or pass a dict"


def wants_shift(shift: object) -> str:
    """Refuse a loss scale that is no power of two on the slider."""
    return f"scale = {shift!r} is no power of two from 2^0 to 2^24; pass 1024, for example"


def wants_one_of(what: str, found: object, legal: list[str]) -> str:
    """Refuse a layer, step or height that there is not."""
    return f"unknown {what} {found!r}; there is {', '.join(legal)}"
