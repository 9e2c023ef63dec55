"""The outlier in JupyterLab: dragged by mouse, moved by key, in both themes, on a narrow page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab
from tests.browser.layout import cut_text, overhang

pytestmark = pytest.mark.browser

WIDGET = "from ampcourse.widgets import outlier\nx = outlier()\nx"


@pytest.fixture
def page(lab: Lab) -> Any:
    lab.open_cells([WIDGET, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-outlier .amp-blocks li")
    return lab.page


def told(page: Any, text: str) -> None:
    """Wait for the sentence that a screen reader gets."""
    page.get_by_role("status").filter(has_text=text).wait_for()


def test_arrow_keys_move_the_outlier_and_its_blocks_lose_their_values(lab: Lab, page: Any) -> None:
    size = page.get_by_role("slider", name="Outlier's size")
    size.focus()
    for _ in range(11):
        page.keyboard.press("ArrowRight")
    told(page, "One scale for all: 63 of the others become 0")
    assert size.get_attribute("aria-valuetext") == "2 to the 12, 4096"
    page.get_by_role("slider", name="Outlier's place").focus()
    page.keyboard.press("End")
    told(page, "at place 64")
    assert lab.run("print(x.exponent, x.place)").split() == ["12", "63"]
    blocks = page.get_by_role("list", name="NVFP4").get_by_role("listitem").all_inner_texts()
    assert ["error 100 %" in block for block in blocks] == [False, False, False, True]


def test_the_diamond_is_dragged_in_size_and_place(lab: Lab, page: Any) -> None:
    box = page.locator(".amp-outlier .amp-values").first.bounding_box()
    column = box["width"] / 64
    page.mouse.move(box["x"] + 20.5 * column, box["y"] + 0.7 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 40.5 * column, box["y"] + 0.2 * box["height"], steps=8)
    told(page, "at place 41")
    page.mouse.up()
    # The axis reaches from 2^-7 to 2^21: four fifths of the way up is 2^15.
    assert lab.run("print(x.place, x.exponent)").split() == ["40", "15"]
    # A mouse that only passes over moves nothing.
    page.mouse.move(box["x"] + 2.5 * column, box["y"] + 0.5 * box["height"], steps=4)
    page.get_by_role("slider", name="Outlier's size").press("ArrowLeft")
    told(page, "Outlier 214 at place 41")


def test_elements_are_chosen_by_key(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="E2M1, 4 bits").focus()
    page.keyboard.press("ArrowRight")
    told(page, "elements E4M3, 8 bits")
    assert lab.run("print(x.element)").strip() == "e4m3"
    assert page.get_by_role("row", name="MXFP8").get_by_role("cell").last.inner_text() == "8.25"


def test_fates_and_the_outlier_are_told_by_more_than_colour(lab: Lab, page: Any) -> None:
    lab.run("x.exponent = 8")
    told(page, "Outlier 28 at place 21")
    looks = page.evaluate("""() => ['kept', 'flushed'].map(kind => getComputedStyle(
        document.querySelector(`.amp-${kind} .amp-value`)).backgroundColor)""")
    assert looks[1] == "rgba(0, 0, 0, 0)" != looks[0]
    diamond = "el => getComputedStyle(el, '::before').transform"
    assert page.locator(".amp-outlier-here .amp-value").first.evaluate(diamond) != "none"


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = ("input[type=range]", "input[type=radio]")
    press_shortcuts(lab, page, [f".amp-outlier {part}" for part in parts])


def test_nothing_sticks_out_from_360_to_700_pixels_and_axe_finds_nothing(
    lab: Lab, page: Any
) -> None:
    for width in (360, 500, 700):
        page.set_viewport_size({"width": width, "height": 1400})
        for exponent, element in ((1, "e2m1"), (20, "e4m3"), (20, "e2m1")):
            lab.run(f"x.exponent, x.element = {exponent}, {element!r}")
            told(page, f"elements {element.upper()}")
            assert overhang(page, ".amp-outlier") <= 1, (width, exponent, element)
            assert cut_text(page, ".amp-outlier .amp-blocks li") == [], width
    assert lab.outputs()[0].strip().startswith("one FP32 scale for the tensor")
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-outlier") == [], theme
