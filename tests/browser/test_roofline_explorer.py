"""The roofline explorer in JupyterLab: by mouse, by key, in both themes, on a narrow page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab
from tests.browser.layout import overhang

pytestmark = pytest.mark.browser

WIDGET = """import torch
from ampcourse.benchmark.layers import workload
from ampcourse.widgets import roofline_explorer

net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(64 * 900, 10))
works = {recipe: workload(net, (64, 3, 32, 32), recipe) for recipe in ('fp32', 'amp-fp16')}
x = roofline_explorer(works)
x"""


@pytest.fixture
def page(lab: Lab) -> Any:
    lab.open_cells([WIDGET, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-roofline [data-key=limit]")
    return lab.page


def told(page: Any, text: str) -> None:
    """Wait for the sentence that a screen reader gets."""
    page.get_by_role("status").filter(has_text=text).wait_for()


def test_the_own_convolution_moves_by_key_and_by_mouse(lab: Lab, page: Any) -> None:
    place = "() => document.querySelector('.amp-own').style.left"
    before = page.evaluate(place)
    slider = page.get_by_role("slider", name="Channels")
    slider.press("ArrowLeft")
    page.wait_for_function(f"() => ({place})() !== {before!r}")
    assert slider.get_attribute("aria-valuetext") == "32 in and out"
    slider.press("Home")
    told(page, "your convolution, limited by memory")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
    told(page, "your convolution, limited by arithmetic")
    page.get_by_role("radio", name="1×1").check()
    assert lab.run("print(x.own.channels, x.own.window)").split() == ["2048", "1"]


def test_device_recipe_and_layer_are_chosen_by_key(lab: Lab, page: Any) -> None:
    page.get_by_role("combobox", name="Device").focus()
    page.keyboard.press("ArrowDown")
    told(page, "T4, AMP, FP16")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    told(page, "T4, TF32")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    told(page, "the whole step, limited by")
    read = lab.run("print(x.device, x.recipe, x.layer, sep='|')").strip()
    assert read == "T4|tf32|the whole step"


def test_a_click_on_a_dot_or_a_bar_chooses_its_layer(lab: Lab, page: Any) -> None:
    page.locator(".amp-strip-row", has_text="all ReLUs").click()
    told(page, "all ReLUs, limited by memory: 2.00 times as fast as in FP32")
    assert page.locator(".amp-strip-row.amp-chosen").inner_text().startswith("all ReLUs")
    page.locator(".amp-layer").first.click()
    page.wait_for_selector(".amp-layer.amp-chosen")
    chosen = page.locator(".amp-layer.amp-chosen").get_attribute("data-layer")
    assert lab.run("print(x.layer)").strip() == chosen


def test_what_limits_is_told_by_more_than_colour(page: Any) -> None:
    looks = page.evaluate("""() => ['arithmetic', 'memory'].map(kind => {
        const style = getComputedStyle(document.querySelector(`.amp-legend-${kind}`));
        return [style.backgroundColor, style.borderTopStyle];
    })""")
    assert looks[0][1] == "none"
    assert looks[1] == ["rgba(0, 0, 0, 0)", "solid"]


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = ("input[type=range]", "input[type=radio]", "select")
    press_shortcuts(lab, page, [f".amp-roofline {part}" for part in parts])


def test_tab_visits_each_part_once_and_in_reading_order(page: Any) -> None:
    page.get_by_role("combobox", name="Device").focus()
    visited = []
    for _ in range(4):
        page.keyboard.press("Tab")
        visited.append(page.evaluate("() => document.activeElement.labels[0].innerText"))
    assert [name.split("\n")[0] for name in visited] == ["AMP, FP16", "Layer", "3×3", "Channels"]


def test_one_sentence_is_told_and_stands_in_the_plain_text(lab: Lab, page: Any) -> None:
    sentence = page.get_by_role("status").filter(has_text="V100").inner_text()
    assert lab.run("print(x)").strip().endswith(sentence)


def test_nothing_sticks_out_from_360_to_700_pixels_and_axe_finds_nothing(
    lab: Lab, page: Any
) -> None:
    for width in (360, 500, 700):
        page.set_viewport_size({"width": width, "height": 900})
        for device in ("GTX 1080 Ti", "H200"):
            lab.run(f"x.device = {device!r}")
            told(page, device)
            assert overhang(page, ".amp-roofline") <= 1, (width, device)
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-roofline") == [], theme
