"""The page gets a figure with words beside it."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from ampcourse.plotting import figure_html, new_axes, show


def bars() -> Any:
    ax = new_axes()
    ax.barh(["fp32", "fp16"], [4, 2])
    ax.set_title("Bytes")
    return ax


class Image(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))


def svg_of(html: str) -> Any:
    [(_, attrs)] = Image(html).found
    return base64.b64decode(attrs["src"].split(",", 1)[1]).decode()


def test_page_has_one_image_with_role_and_alt_text() -> None:
    [(tag, attrs)] = Image(figure_html(bars(), 'two bars: "4" > 2 & so on')).found
    assert tag == "img"
    assert attrs["role"] == "img"
    assert attrs["alt"] == 'two bars: "4" > 2 & so on'


def test_image_is_well_formed_svg_whose_words_stay_text() -> None:
    svg = svg_of(figure_html(bars(), "two bars"))
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "Bytes" in "".join(root.itertext())


def test_image_brings_its_own_light_background() -> None:
    assert re.search(r"fill: #ffffff", svg_of(figure_html(bars(), "two bars")))


def test_same_figure_gives_the_same_bytes_in_another_process() -> None:
    code = (
        "from ampcourse.plotting import figure_html, new_axes\n"
        "ax = new_axes(); ax.barh(['fp32', 'fp16'], [4, 2]); ax.set_title('Bytes')\n"
        "print(figure_html(ax, 'two bars'))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == figure_html(bars(), "two bars")


def test_svg_carries_no_date_and_stays_small() -> None:
    svg = svg_of(figure_html(bars(), "two bars"))
    assert "<metadata" not in svg
    assert "dc:date" not in svg
    assert len(svg) < 15_000


@pytest.mark.parametrize("alt", ["", "  \n", None])
def test_figure_without_words_is_refused_and_says_what_to_write(alt: str) -> None:
    with pytest.raises(ValueError, match="describe in a sentence"):
        show(bars(), alt=alt)


def test_what_is_not_a_figure_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="BarContainer"):
        show(new_axes().barh(["a"], [1]), alt="one bar")  # type: ignore[arg-type]


def test_without_a_notebook_the_words_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show(bars(), alt="two bars,\n  one longer")
    assert capsys.readouterr().out.strip() == "two bars, one longer"


def test_a_pyplot_figure_is_shown_once_because_show_closes_it() -> None:
    figure, ax = pyplot.subplots()
    show(ax, alt="empty axes")
    assert not pyplot.fignum_exists(figure.number)


def test_a_figure_is_taken_as_well_as_its_axes() -> None:
    assert figure_html(Figure(), "nothing drawn").startswith("<img")
