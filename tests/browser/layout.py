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


def cut_text(page: Any, selector: str) -> list[str]:
    """Return the texts of those elements that are wider than the element itself."""
    script = """elements => elements.filter(e => e.scrollWidth > e.clientWidth)
        .map(e => e.innerText)"""
    texts: list[str] = page.locator(selector).evaluate_all(script)
    return texts
