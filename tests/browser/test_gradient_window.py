"""The gradient window in JupyterLab: mouse, keyboard, live updates, what a screen reader gets."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab
from tests.browser.layout import overhang

pytestmark = pytest.mark.browser

WINDOW = """import numpy as np
from ampcourse.dynamic_range import exponent_histogram
from ampcourse.widgets import gradient_window

def layers(shift):
    rng = np.random.default_rng(0)
    exponents = {'conv': -22, 'fc': -6}
    spread = {name: 2.0 ** (e - shift + 3 * rng.standard_normal(998)) for name, e in
              exponents.items()}
    return [exponent_histogram(np.append(v, [0, 2.0**-25]), name) for name, v in spread.items()]

x = gradient_window({0: layers(0), 10: layers(2)})
x"""


@pytest.fixture
def page(lab: Lab) -> Any:
    """Return a page that shows two layers over two steps."""
    lab.open_cells([WINDOW, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-window [data-key=headroom]")
    return lab.page


def wait_for_status(page: Any, text: str) -> None:
    page.get_by_role("status").filter(has_text=text).wait_for()


def percent(page: Any, kind: str) -> str:
    """Return the share that the legend tells for a class."""
    return str(page.locator(f".amp-key li:has(.amp-class-{kind}) b").inner_text())


def test_the_scale_slides_by_mouse_and_by_key_and_hatched_bars_become_whole(
    lab: Lab, page: Any
) -> None:
    hatched = page.locator(".amp-flushed:visible")
    assert hatched.count() > 3
    slider = page.get_by_role("slider", name="Loss scale")
    slider.press("ArrowRight")
    wait_for_status(page, "loss scale 2:")
    assert slider.get_attribute("aria-valuetext") == "2 to the 1, 2"
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.1, middle)
    page.mouse.down()
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] * (0.1 + 0.03 * step), middle)
    page.mouse.up()
    page.wait_for_function("() => !document.querySelector('.amp-flushed:not([hidden])')")
    assert float(lab.run("print(x.scale)")) > 2**10
    assert percent(page, "flushed") == "0 %"
    assert percent(page, "zeros") == "0.1 %"
    slider.press("End")
    wait_for_status(page, "loss scale 16")
    assert lab.run("print(x.scale == 2**24)").strip() == "True"


def test_too_large_values_are_crossed_out_and_told(lab: Lab, page: Any) -> None:
    page.get_by_role("combobox", name="Layer").select_option("fc")
    page.get_by_role("slider", name="Loss scale").press("End")
    wait_for_status(page, "headroom −")
    assert page.locator(".amp-bar-above .amp-kept:visible").count() > 2
    assert percent(page, "overflow") not in ("0 %", "100 %")
    assert "overflows" in page.locator("[data-key=headroom]").inner_text()


def test_layer_step_format_and_height_are_chosen_by_key(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="fp16").focus()
    page.keyboard.press("ArrowRight")
    wait_for_status(page, "conv in bf16")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    page.keyboard.press("ArrowDown")
    wait_for_status(page, "fc in bf16")
    page.keyboard.press("Tab")
    assert page.locator(".amp-named-step").inner_text().split() == ["Step", "10", "(2", "of", "2)"]
    page.keyboard.press("ArrowLeft")
    page.locator(".amp-named-value", has_text="0 (1 of 2)").wait_for()
    read = lab.run("print(x.format.name, x.layer, x.step, x.state.height)")
    assert read.split() == ["bf16", "fc", "0", "log"]


def test_the_window_is_drawn_with_its_names_and_edges(page: Any) -> None:
    names = ["too small", "subnormal", "normal", "too large"]
    assert page.locator(".amp-region-name").all_inner_texts() == names
    assert page.locator(".amp-edge").all_inner_texts() == ["2−24", "2−14", "216"]


def test_every_bar_lies_in_front_of_the_window(page: Any) -> None:
    hidden = page.evaluate("""() => [...document.querySelectorAll('.amp-bar-of')]
        .filter(bar => bar.querySelector(':not([hidden])'))
        .filter(bar => {
            const place = bar.querySelector(':not([hidden])').getBoundingClientRect();
            const top = document.elementFromPoint(
                place.left + place.width / 2, place.bottom - 1);
            return !bar.contains(top);
        }).map(bar => bar.title)""")
    assert hidden == []


def test_updates_from_a_loop_change_the_bars_in_place(lab: Lab, page: Any) -> None:
    page.evaluate("""() => {
        window.added = 0;
        window.bars = [...document.querySelectorAll('.amp-bar-of')];
        new MutationObserver(changes => changes.forEach(c => {
            window.added += c.addedNodes.length;
        })).observe(document.querySelector('.amp-bars'), { childList: true });
    }""")
    lab.run("for shift in range(20): x.update(layers(2), step=10); x.scale = 2.0**shift")
    wait_for_status(page, "loss scale 524")
    kept = "() => [window.added, window.bars.every(bar => bar.isConnected)]"
    assert page.evaluate(kept) == [0, True]
    lab.run("x.update(layers(0), step=20)")
    page.locator(".amp-named-value", has_text="20 (3 of 3)").wait_for()


def test_one_histogram_needs_no_choice_of_layer_or_step(lab: Lab, page: Any) -> None:
    lab.run("x.update(layers(0)[0])")
    page.get_by_role("combobox", name="Layer").wait_for(state="hidden")
    assert page.get_by_role("slider", name="Step").count() == 0


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = [f".amp-window {part}" for part in ("input[type=range]", "input[type=radio]", "select")]
    press_shortcuts(lab, page, parts)


def test_tab_visits_each_part_once_and_in_reading_order(page: Any) -> None:
    page.get_by_role("radio", name="fp16").focus()
    describe = """() => {
        const e = document.activeElement;
        return e.labels?.[0]?.firstChild.textContent || e.labels?.[0]?.innerText;
    }"""
    visited = []
    for _ in range(4):
        page.keyboard.press("Tab")
        visited.append(re.split(r"\n", page.evaluate(describe))[0])
    assert visited == ["share", "Layer", "Step", "Loss scale"]


def test_one_sentence_is_told_and_stands_in_the_plain_text(lab: Lab, page: Any) -> None:
    told = page.get_by_role("status").filter(has_text="conv in fp16").inner_text()
    shown = lab.outputs()[0].strip()
    assert shown.endswith(told)
    assert shown == lab.run("print(x)").strip()


def test_nothing_sticks_out_from_360_to_700_pixels_and_axe_finds_nothing(
    lab: Lab, page: Any
) -> None:
    for width in (360, 500, 700):
        page.set_viewport_size({"width": width, "height": 900})
        for name in ("fp16", "bf16", "e4m3"):
            lab.run(f"x.format = {name!r}; x.scale = 2.0**12")
            wait_for_status(page, f"conv in {name}")
            assert overhang(page, ".amp-window") <= 1, (width, name)
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-window") == [], theme
