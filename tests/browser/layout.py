"""Whether a widget keeps to the width of its page."""

from __future__ import annotations

from typing import Any

_OVERHANG = """selector => {
    const box = document.querySelector(selector);
    const edge = box.getBoundingClientRect().right;
    return Math.max(...[...box.querySelectorAll('*')]
        .map(e => e.getBoundingClientRect().right - edge));
}"""


def overhang(page: Any, selector: str) -> float:
    """Return by how many pixels something in a box sticks out of it to the right."""
    pixels: float = page.evaluate(_OVERHANG, selector)
    return pixels
