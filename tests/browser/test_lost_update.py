"""The lost-update widget in JupyterLab: mouse, keyboard, what a screen reader gets."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab
from tests.browser.layout import overhang

pytestmark = pytest.mark.browser

LOST_UPDATE = "from ampcourse.widgets import lost_update\nx = lost_update()\nx"


@pytest.fixture
def page(lab: Lab) -> Any:
    """Return a page that shows fp16, w = 1 and Δ = 0.001."""
    lab.open_cells([LOST_UPDATE, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-update .amp-verdict:not(:empty)")
    return lab.page


def wait_for_verdict(page: Any, text: str) -> None:
    page.locator(".amp-verdict", has_text=text).wait_for()


def test_delta_is_dragged_by_mouse_and_by_key_until_the_update_is_lost(lab: Lab, page: Any) -> None:
    slider = page.get_by_role("slider", name="Δ, log scale")
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.42, middle)
    page.mouse.down()
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] * (0.42 - 0.015 * step), middle)
    page.mouse.up()
    wait_for_verdict(page, "lost")
    assert page.locator(".amp-verdict.amp-is-lost").count() == 1
    assert lab.run("print(x.lost, 1 + float(x.delta) != 1)").split() == ["True", "True"]
    lab.run("x.delta = '0x1p-11'")  # the tie: lost, and the next position is not
    wait_for_verdict(page, "lost")
    slider.press("ArrowRight")
    wait_for_verdict(page, "moved 1 step up")
    slider.press("ArrowLeft")
    wait_for_verdict(page, "lost")
    slider.press("Home")
    page.locator(".amp-delta-size", has_text="2−17").wait_for()
    assert slider.get_attribute("aria-valuetext") == "7.62939453125e-06"


def test_sign_mode_and_format_are_chosen_by_mouse_and_by_key(lab: Lab, page: Any) -> None:
    lab.run("x.delta = '0.0004'")
    wait_for_verdict(page, "lost")
    page.get_by_role("radio", name="−").click()
    wait_for_verdict(page, "moved 1 step down")
    page.get_by_role("radio", name="nearest, ties to even").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("status").filter(has_text="toward zero").wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_role("status").filter(has_text="fp16, up").wait_for()
    wait_for_verdict(page, "lost")
    assert page.evaluate("document.activeElement.checked")
    page.get_by_role("radio", name="e4m3").click()
    page.get_by_role("status").filter(has_text="e4m3, up").wait_for()
    assert lab.run("print(x.format.name, x.mode, x.delta)").split() == ["e4m3", "up", "-0.0004"]


def test_numbers_are_typed_and_a_malformed_one_shows_where(lab: Lab, page: Any) -> None:
    field = page.get_by_label("Δ", exact=True)
    field.fill("-1e-4")
    field.press("Enter")
    wait_for_verdict(page, "lost")
    weight = page.get_by_label("w", exact=True)
    weight.fill("0.1")
    page.get_by_role("button", name="Set w").click()
    page.get_by_text("0.1 is not a number of fp16; w is the nearest one").wait_for()
    field.fill("1,5")
    field.press("Enter")
    problem = page.locator("[role=alert]", has_text="1,5")
    problem.wait_for()
    assert problem.locator("mark").inner_text() == ","
    assert field.get_attribute("aria-invalid") == "true"
    assert weight.get_attribute("aria-invalid") == "false"
    assert lab.run("print(x.delta)").strip() == "-1e-4"


def test_stochastic_rounding_is_drawn_and_counted(lab: Lab, page: Any) -> None:
    draws = page.get_by_role("group", name="Draws")
    assert draws.count() == 0  # hidden while rounding is certain
    lab.run("x.delta = '0.0003'")
    page.get_by_role("radio", name="stochastic").click()
    draws.get_by_text("1 draw, mean").wait_for()
    page.get_by_role("button", name="Draw again").press("Enter")
    draws.get_by_text("2 draws, mean").wait_for()
    page.get_by_role("button", name="Draw 100 times").click()
    draws.get_by_text("102 draws, mean").wait_for()
    assert "probability p = 30.72 %" in draws.inner_text()
    assert sum(eval(lab.run("print(x.state.draws)"))) == 102


def test_the_line_shows_grid_sum_and_result(lab: Lab, page: Any) -> None:
    assert page.locator(".amp-at-border").count() == 1
    assert page.locator(".amp-at-spacing").all_inner_texts() == ["gap 2−11", "gap 2−10"]
    assert page.locator(".amp-at-result").inner_text() == "rounded 1.0009765625"
    assert page.locator(".amp-at-exact").count() == 1
    lab.run("x.delta = '0.0001'")
    wait_for_verdict(page, "lost")
    assert page.locator(".amp-at-lost").inner_text() == "w = rounded = 1"
    assert page.locator(".amp-at-result").count() == 0


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = [".amp-update input[type=range]", ".amp-update input[type=radio]", ".amp-button"]
    press_shortcuts(lab, page, parts, page.get_by_label("Δ", exact=True))


def test_tab_visits_each_part_once_and_in_reading_order(page: Any) -> None:
    page.get_by_role("radio", name="fp16").focus()
    describe = """() => {
        const e = document.activeElement;
        return e.getAttribute('aria-label') ?? e.labels?.[0]?.innerText ?? e.innerText;
    }"""
    visited = []
    for _ in range(7):
        page.keyboard.press("Tab")
        visited.append(re.split(r"\n", page.evaluate(describe))[0])
    assert visited == [
        "nearest, ties to even", "w", "Set w", "Δ", "Set Δ", "+", "Δ, log scale",
    ]  # fmt: skip


def test_one_sentence_is_told_and_stands_in_the_plain_text(lab: Lab, page: Any) -> None:
    told = "fp16, nearest, ties to even: 1 + 0.001 gives 1.0009765625, 1 step above w."
    assert page.get_by_role("status").filter(has_text="fp16").inner_text() == told
    shown = lab.outputs()[0].strip()
    assert shown.endswith(told)
    assert shown == lab.run("print(lost_update())").strip()


def test_nothing_sticks_out_from_360_to_700_pixels_and_axe_finds_nothing(
    lab: Lab, page: Any
) -> None:
    lab.run("x.mode = 'stochastic'; x.format = 'fp32'; x.w = '0.1'; x.delta = '0x1.9p-27'")
    page.get_by_role("status").filter(has_text="fp32, stochastic").wait_for()
    for width in (360, 500, 700):
        page.set_viewport_size({"width": width, "height": 900})
        assert overhang(page, ".amp-update") <= 1, width
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-update") == [], theme
