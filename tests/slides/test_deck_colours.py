"""A figure on a slide takes all its colours from the slide, so that a dark one is dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.axes import Axes

from ampcourse.plotting import style
from ampcourse.plotting.binades import binades
from ampcourse.plotting.number_line import gaps
from ampcourse.plotting.type_grid import type_grid
from ampcourse.slides.deck import Deck
from ampcourse.slides.picture import inline_svg

_COLOUR = re.compile(r"(?<=[:\"\s])#[0-9a-f]{3,8}(?![\w-])|\brgb\(", re.I)


def left_over(html: str) -> set[str]:
    """Return the colours of inline figures that are no variables of the slide."""
    return {
        found
        for svg in re.findall(r"<svg role=.*?</svg>", html, re.S)
        for found in _COLOUR.findall(svg)
    }


FIGURES = {
    "arrow": lambda: binades([("binade", [1.0, 1.5], 0.5)]),
    "text": lambda: gaps({"fp16": [(0, 1, -10)], "e4m3": [(0, 1, -3)]}),
    "fill": lambda: type_grid({"O1": {"weights": "fp32", "output": "bf16", "scale": "128"}}),
}


@pytest.mark.parametrize("name", FIGURES)
def test_no_colour_of_a_figure_is_left_as_a_number(name: str) -> None:
    svg = inline_svg(FIGURES[name](), "a figure", "f1")
    assert "var(--" in svg
    assert not left_over(svg)


@pytest.mark.parametrize("colour", [*style.PARTS.values(), style.PALE, style.HUES["blue"].text])
def test_each_shade_has_a_variable_of_the_theme(colour: str) -> None:
    ax: Axes = style.new_axes()
    ax.plot([0, 1], color=colour)
    (drawn,) = re.findall(r"stroke: (var\(--[\w-]+\)); stroke-width: 1.5", inline_svg(ax, "a", "b"))
    theme = (Path(style.__file__).parents[1] / "slides/static/theme.css").read_text("utf-8")
    assert f"{drawn[4:-1]}: {colour.lower()};" in theme


def test_no_figure_of_a_deck_has_a_colour_of_its_own(deck: tuple[Deck, Path]) -> None:
    assert not left_over(deck[1].read_text("utf-8"))
