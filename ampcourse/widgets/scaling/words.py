"""Every word of the outlier widget, in one place, so that another language needs one other file.

LABELS go to the browser as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence

from ampcourse.widgets.bits import words
from ampcourse.widgets.numerals import typeset

HEAD = ["scales", "become 0", "clamped", "error of the others", "bits per value"]

LABELS = {
    "element": "Elements",
    "place": "Outlier's place",
    "size": "Outlier's size",
    "hint": "Drag the diamond up, down and sideways, or move the sliders by key.",
    "axis": "size of each value, as a power of two",
    "kept": "kept, rounded",
    "flushed": "becomes 0",
    "clamped": "too large for its scale: clamped",
    "outlier": "the outlier",
    "line": "what is below this line becomes 0",
    "table": "The three side by side",
    "head": HEAD,
    "silent": words.LABELS["silent"],
}

ELEMENTS = {"e2m1": "E2M1, 4 bits", "e4m3": "E4M3, 8 bits"}

SCHEMES = {
    "per_tensor_e2m1": "one FP32 scale for the tensor",
    "per_tensor_e4m3": "one FP32 scale for the tensor",
    "mxfp4": "MXFP4: an E8M0 scale for 32",
    "mxfp8_e4m3": "MXFP8: an E8M0 scale for 32",
    "nvfp4": "NVFP4: an E4M3 scale for 16",
    "e4m3_16": "an E4M3 scale for 16, only to compare",
}

SHORT = ("One scale for all", "blocks of 32", "blocks of 16")
NOTHING_ELSE = "no other value"


def percent(share: float) -> str:
    """Write an error; two digits are enough to compare.

    >>> percent(0.1234), percent(0.02345), percent(1.0), percent(0.0)
    ('12 %', '2.3 %', '100 %', '0 %')
    """
    return f"{100 * share:.2g} %" if 100 * share < 99.5 else f"{100 * share:.0f} %"


def scale(number: float, power: str | None) -> str:
    """Name a block's scale; `power` is its exponent where it is a power of two."""
    if not number:
        return "scale 0"
    return f"scale 2^{{{power}}}" if power is not None else f"scale {typeset(f'{number:.3g}')}"


def block(error: str, flushed: int, clamped: int) -> str:
    """Say what a block loses."""
    lost = f"{flushed} to 0" + (f", {clamped} clamped" if clamped else "")
    return f"{lost}; error {error}"


def size(exponent: int) -> str:
    """Write a power of two with its value."""
    return f"2^{{{exponent}}} = {2**exponent}"


def spoken_size(exponent: int) -> str:
    """Say a power of two."""
    return f"2 to the {exponent}, {2**exponent}"


def place(number: int, count: int) -> str:
    """Name a place, counted from 1."""
    return f"{number + 1} of {count}"


def bits(number: float) -> str:
    """Write storage per value in a large tensor.

    >>> bits(4.25), bits(4.0)
    ('4.25', '4')
    """
    return f"{number:g}"


def bar(place: int, value: float, stored: float, fate: str) -> str:
    """Tell what becomes of a value, for the mouse that rests on it."""
    return f"value {place + 1}: {value:.3g} becomes {stored:.3g}, {LABELS[fate]}"


def sentence(element: str, place: int, exponent: int, told: Sequence[tuple[str, int, str]]) -> str:
    """Tell the state in one sentence."""
    (name, count, error), *others = told
    first = f"{name}: {count} of the others become 0, and their error is {error}"
    parts = [f"{name}: {count}, and {error}" for name, count, error in others]
    head = f"Outlier 2^{{{exponent}}} at place {place + 1}, elements {ELEMENTS[element]}"
    return f"{head}. {'; '.join([first, *parts])}."


def unknown(what: str, value: object, legal: Sequence[str]) -> str:
    """Refuse a choice."""
    return f"{what} {value!r} is unknown; choose from {', '.join(legal)}"


def out_of_range(what: str, value: object, low: int, high: int) -> str:
    """Refuse a number."""
    return f"{what}={value!r} must be a whole number from {low} to {high}"
