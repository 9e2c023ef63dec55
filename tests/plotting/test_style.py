"""The course's drawing style: what `styled` covers, and letters that can be set larger."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib.axes import Axes

from ampcourse.formats import FORMATS
from ampcourse.plotting import new_axes, style, styled
from ampcourse.plotting.page import checked_figure, figure_svg


@styled
def drawn() -> Axes:
    """Return Axes with a title, a tick's label and small letters."""
    ax = new_axes()
    ax.set_title("title")
    ax.text(0, 0, "text")
    ax.text(0, 0, "small", size=style.small())
    return ax


def sizes(ax: Any) -> list[float]:
    return [ax._left_title.get_fontsize(), *(text.get_fontsize() for text in ax.texts)]


def test_every_format_has_a_colour_and_a_marker_of_its_own() -> None:
    assert list(style.FORMATS) == list(FORMATS) == list(style.FORMAT_MARKERS)
    assert len(set(style.FORMAT_MARKERS.values())) == len(FORMATS)


def test_style_holds_inside_a_drawing_function_and_does_not_leak_out() -> None:
    before = dict(matplotlib.rcParams)
    inside = styled(lambda: matplotlib.rcParams["axes.spines.top"])()
    assert inside is False
    assert not new_axes().spines["top"].get_visible()
    assert dict(matplotlib.rcParams) == before


def test_style_does_not_leak_out_of_a_drawing_function_that_raises() -> None:
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError):
        styled(lambda: 1 / 0)()
    assert dict(matplotlib.rcParams) == before


def test_letters_have_the_sizes_that_are_written_down() -> None:
    assert sizes(drawn()) == [style.LETTERS[name] for name in ("title", "text", "small")]


def test_settings_are_the_style_where_no_one_asks_for_larger_letters() -> None:
    assert style.settings() == dict(style.RC)
    assert set(style.settings()) <= set(matplotlib.rcParams)


@pytest.mark.parametrize("factor", [1.5, 2.0])
def test_lettering_makes_all_three_sizes_larger_and_nothing_else(factor: float) -> None:
    usual = sizes(drawn())
    with style.lettering(factor):
        assert sizes(drawn()) == [factor * size for size in usual]
        grown = {name for name, value in style.settings().items() if style.RC[name] != value}
    assert grown == {"font.size", "axes.titlesize"}


def test_lettering_ends_with_its_block_even_if_that_raises() -> None:
    with pytest.raises(ZeroDivisionError), style.lettering(2):
        1 / 0  # noqa: B018
    assert style.settings() == dict(style.RC)


def test_lettering_inside_lettering_replaces_it_and_gives_it_back() -> None:
    with style.lettering(2):
        with style.lettering(1.5):
            assert style.small() == 1.5 * style.LETTERS["small"]
        assert style.small() == 2 * style.LETTERS["small"]


def test_the_labels_of_ticks_follow_lettering_in_what_is_written_to_the_page() -> None:
    with style.lettering(2):
        svg = figure_svg(checked_figure(drawn()))
    assert "20px" in svg
    assert "10px" not in svg


def test_a_figure_is_as_wide_as_a_notebooks_column() -> None:
    figure: Any = new_axes().figure
    assert tuple(figure.get_size_inches()) == (style.WIDTH, style.HEIGHT)
    assert 96 * style.WIDTH == 672  # CSS pixels


def test_no_drawing_sets_a_size_of_letters_that_lettering_cannot_change() -> None:
    root = Path(style.__file__).parents[2]
    drawings = [
        *(root / "ampcourse" / "plotting").glob("*.py"),
        *(root / "notebooks").rglob("*.py"),
    ]
    fixed = re.compile(r"\b(?:font|label|title)?size=[\d.]+|\bfontsize=\"")
    assert len(drawings) > 30
    found = {path.name: fixed.findall(path.read_text("utf-8")) for path in drawings}
    assert not {name: some for name, some in found.items() if some}


def test_a_text_shade_is_of_the_same_hue_and_is_its_own() -> None:
    for hue in style.HUES.values():
        assert style.text_shade(hue.light) == style.text_shade(hue.text) == hue.text


def test_a_foreign_colour_is_refused_with_those_that_the_course_has() -> None:
    with pytest.raises(ValueError, match=f"#123456.*{style.BLUE}"):
        style.text_shade("#123456")
