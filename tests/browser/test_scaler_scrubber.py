"""The scaler scrubber in JupyterLab: through time by key, infs put in, settings changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab

pytestmark = pytest.mark.browser

WIDGET = "from ampcourse.widgets import scaler_scrubber\nx = scaler_scrubber()\nx"


@pytest.fixture
def page(lab: Lab) -> Any:
    """Return a page that shows 40 steps without an inf."""
    lab.open_cells([WIDGET, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-column")
    return lab.page


def told(page: Any, text: str) -> None:
    """Wait for the sentence that a screen reader gets."""
    page.get_by_role("status").filter(has_text=text).wait_for()


def readout(page: Any, key: str) -> str:
    return str(page.locator(f"[data-key={key}] > span").inner_text())


def heights(page: Any) -> list[str]:
    """Return the heights of the stairs, step by step."""
    path = page.locator(".amp-plot path").get_attribute("d")
    return [part.split("H")[0].lstrip("VM0 ") for part in path.split("V")]


def test_the_slider_scrubs_by_key_and_every_read_out_follows(lab: Lab, page: Any) -> None:
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    told(page, "Step 5: no inf at scale 216; 5 good steps in a row, so the scale grows to 217.")
    assert readout(page, "before") == "scale 216 = 65536, tracker 4 of 5"
    assert readout(page, "decision").startswith("step taken")
    assert page.locator(".amp-rule-now").get_attribute("data-rule") == "grown"
    assert page.locator(".amp-rule-now").get_attribute("aria-current") == "step"
    assert page.locator(".amp-now .amp-column-number").inner_text() == "5"
    assert slider.get_attribute("aria-valuetext") == "5 of 40"
    page.keyboard.press("End")
    told(page, "Step 40")
    assert lab.run("print(x.step)").strip() == "40"
    lab.run("x.step = 7")
    told(page, "Step 7")
    assert slider.input_value() == "7"


def test_an_inf_put_in_changes_the_future_only_and_can_be_taken_out(lab: Lab, page: Any) -> None:
    lab.run("x.step = 12")
    told(page, "Step 12")
    before = heights(page)
    button = page.get_by_role("button", name="Inject an inf at this step")
    assert button.get_attribute("aria-pressed") == "false"
    button.focus()
    page.keyboard.press("Space")
    told(page, "an inf at scale 218; the step is skipped and the scale backs off to 217.")
    assert button.get_attribute("aria-pressed") == "true"
    after = heights(page)
    assert after[:12] == before[:12]
    assert after[12:] != before[12:]
    assert lab.run("print(*x.infs, x.history[11].after.scale == 2**17)").split() == ["12", "True"]
    page.keyboard.press("Space")
    told(page, "no inf at scale 218")
    assert heights(page) == before
    page.keyboard.press("Enter")
    told(page, "an inf at scale")
    page.get_by_role("button", name="Remove all infs").press("Enter")
    told(page, "no inf at scale 218")
    assert heights(page) == before


def test_a_skipped_step_is_marked_by_sign_and_hatching_not_only_by_colour(
    lab: Lab, page: Any
) -> None:
    lab.run("x.infs = {12}")
    column = page.locator(".amp-column").nth(11)
    column.locator(".amp-column-mark", has_text="✕").wait_for()
    hatched = "e => getComputedStyle(e).backgroundImage.includes('repeating-linear-gradient')"
    assert column.locator(".amp-column-scale").evaluate(hatched)
    assert not page.locator(".amp-column-scale").nth(10).evaluate(hatched)
    assert page.locator(".amp-column-mark").nth(4).inner_text() == "▲"


def test_a_click_on_the_timeline_chooses_its_step(lab: Lab, page: Any) -> None:
    page.locator(".amp-column").nth(19).click()
    told(page, "Step 20")
    assert lab.run("print(x.step)").strip() == "20"


def test_settings_change_the_trace_and_a_wrong_one_is_refused_in_its_field(
    lab: Lab, page: Any
) -> None:
    interval = page.get_by_role("slider", name="Growth interval")
    interval.focus()
    page.keyboard.press("Home")
    page.locator(".amp-rule", has_text="no inf, 1 good step").first.wait_for()
    lab.run("x.step = 3")
    told(page, "the scale grows to 219")
    field = page.get_by_label("First scale", exact=True)
    field.fill("2^10")
    field.press("Enter")
    told(page, "the scale grows to 213")
    field = page.get_by_label("Growth factor", exact=True)
    field.fill("0.9")
    field.press("Enter")
    page.locator("[role=alert]", has_text="growth factor 0.9 is not larger than 1").wait_for()
    assert (field.input_value(), field.get_attribute("aria-invalid")) == ("0.9", "true")
    assert lab.run("print(*x.trace.factors)").split() == ["2.0", "0.5"]
    field.fill("4")
    field.press("Tab")
    page.wait_for_function("() => !document.querySelector('[aria-invalid=true]')")
    assert lab.run("print(*x.trace.factors)").split() == ["4.0", "0.5"]


def test_jupyterlab_takes_no_key_from_any_part_and_tab_visits_all(lab: Lab, page: Any) -> None:
    first = page.get_by_label("First scale", exact=True)
    press_shortcuts(lab, page, ["input[type=range]", ".amp-inject", ".amp-scrub"], first)
    describe = """() => {
        const e = document.activeElement;
        const label = e.labels?.[0]?.innerText.split('\\n')[0];
        return e.getAttribute('aria-label') ?? label ?? e.innerText;
    }"""
    visited = []
    for _ in range(6):
        page.keyboard.press("Tab")
        visited.append(page.evaluate(describe).strip().lstrip("✕").strip())
    assert visited == [
        *("Growth factor", "Backoff factor", "Growth interval"),
        *("Step", "Inject an inf at this step", "Remove all infs"),
    ]


@pytest.mark.parametrize("width", [360, 700])
def test_nothing_sticks_out_and_the_shown_step_is_in_sight(lab: Lab, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1200})
    lab.run("x.infs = {12, 13, 30}; x.step = 39")
    told(page, "Step 39")
    overhang = page.evaluate(
        """() => {
            const box = document.querySelector('.amp-explorer');
            const edge = box.getBoundingClientRect().right;
            return Math.max(...[...box.querySelectorAll('.amp *')]
                .filter(e => !e.closest('.amp-plot'))
                .map(e => e.getBoundingClientRect().right - edge));
        }"""
    )
    assert overhang <= 1
    scroll = page.locator(".amp-plot-scroll").bounding_box()
    now = page.locator(".amp-now").bounding_box()
    assert scroll["x"] - 1 <= now["x"]
    assert now["x"] + now["width"] <= scroll["x"] + scroll["width"] + 1


def test_axe_finds_nothing_and_the_plain_text_is_there(lab: Lab, page: Any) -> None:
    assert lab.outputs()[0].strip() == lab.run("print(scaler_scrubber())").strip()
    lab.run("x.infs = {12, 13, 30}; x.step = 12")
    told(page, "Step 12: an inf")
    field = page.get_by_label("Growth factor", exact=True)
    field.fill("1.5x")
    field.press("Enter")
    page.locator("[role=alert] mark").wait_for()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-explorer") == [], theme
    page.set_viewport_size({"width": 400, "height": 1200})
    assert violations(page, ".amp-explorer") == []
