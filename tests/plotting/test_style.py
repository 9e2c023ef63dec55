"""The course's colours can be told apart from the page, and not by hue alone."""

from __future__ import annotations

from typing import Any

import matplotlib
import pytest
from matplotlib.colors import to_rgb

from ampcourse.formats import FORMATS
from ampcourse.plotting import new_axes, style, styled


def luminance(colour: str) -> Any:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colour", [*style.PARTS.values(), *style.FORMATS.values()])
def test_colour_reaches_three_to_one_against_the_card_as_wcag_asks(colour: str) -> None:
    ratio = (luminance(style.CARD) + 0.05) / (luminance(colour) + 0.05)
    assert ratio >= 3


def test_text_reaches_four_and_a_half_to_one() -> None:
    for colour in (style.INK, style.GREY):
        assert (luminance(style.CARD) + 0.05) / (luminance(colour) + 0.05) >= 4.5


def test_the_parts_of_a_float_have_three_colours() -> None:
    assert len(set(style.PARTS.values())) == 3


def test_every_format_has_a_colour_and_a_marker_of_its_own() -> None:
    assert list(style.FORMATS) == list(FORMATS) == list(style.FORMAT_MARKERS)
    assert len(set(style.FORMAT_MARKERS.values())) == len(FORMATS)


def test_style_holds_inside_a_drawing_function_and_does_not_leak_out() -> None:
    before = dict(matplotlib.rcParams)
    inside = styled(lambda: matplotlib.rcParams["axes.spines.top"])()
    assert inside is False
    assert not new_axes().spines["top"].get_visible()
    assert dict(matplotlib.rcParams) == before
