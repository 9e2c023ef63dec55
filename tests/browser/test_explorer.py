"""The explorer in JupyterLab: mouse, keyboard, what a screen reader gets, what Python reads."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab

pytestmark = pytest.mark.browser

EXPLORER = "from ampcourse.widgets import explorer\nx = explorer('fp16', '0.1')\nx"


@pytest.fixture
def page(lab: Lab) -> Any:
    """Return a page that shows fp16 and 0.1."""
    lab.open_cells([EXPLORER, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-explorer [role=radiogroup]")
    lab.page.wait_for_selector(".amp-bit")
    return lab.page


def bits(page: Any) -> str:
    """Return the digits drawn."""
    return "".join(page.locator(".amp-bit .amp-digit").all_inner_texts())


def wait_for_bits(page: Any, expected: str) -> None:
    script = """(expected) => [...document.querySelectorAll('.amp-bit .amp-digit')]
        .map(digit => digit.textContent).join('') === expected"""
    page.wait_for_function(script, arg=expected)


def wait_for_readout(page: Any, key: str, text: str) -> None:
    page.locator(f"[data-key={key}]", has_text=text).wait_for()


def code(lab: Lab) -> int:
    """Return the code that Python has."""
    return int(lab.run("print(x.code)"))


def test_bits_flip_by_click_and_by_key_and_python_reads_them(lab: Lab, page: Any) -> None:
    assert bits(page) == f"{0x2E66:016b}"
    page.locator(".amp-bit").last.click()
    wait_for_bits(page, f"{0x2E67:016b}")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    wait_for_bits(page, f"{0xAE67:016b}")
    page.keyboard.press("Enter")
    wait_for_bits(page, f"{0x2E67:016b}")
    assert lab.run("print(x.code, x.value, x.format.name)").split() == [
        "11879",
        "0.10003662109375",
        "fp16",
    ]


def test_typed_digits_set_bits_and_arrows_move_over_them(lab: Lab, page: Any) -> None:
    page.locator(".amp-bit").first.focus()
    page.keyboard.type("0100010001001000")  # 4.28125, as quick as a machine types
    wait_for_bits(page, "0100010001001000")
    assert float(lab.run("print(x.value)")) == 4.28125
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == "significand bit worth 2 to the -10"
    names = []
    for key in ("Home", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "End"):
        page.keyboard.press(key)
        names.append(page.evaluate(focused))
    assert names == [
        "sign bit",
        "exponent bit worth 16",
        "significand bit worth 2 to the -1",
        "exponent bit worth 16",
        "sign bit",
        "significand bit worth 2 to the -10",
    ]


def test_a_number_is_typed_and_a_malformed_one_shows_where(lab: Lab, page: Any) -> None:
    field = page.get_by_label("Number", exact=True)
    for text, expected in (("1e-8", 0), ("0x1.8p-3", 0x3200), ("-inf", 0xFC00), ("nan", 0x7E00)):
        field.fill(text)
        field.press("Enter")
        wait_for_bits(page, f"{expected:016b}")
    field.fill("1.5x3")
    field.press("Enter")
    problem = page.locator("[role=alert]", has_text="1.5x3")
    problem.wait_for()
    assert problem.locator("mark").inner_text() == "x"
    assert field.get_attribute("aria-invalid") == "true"
    assert code(lab) == 0x7E00
    field.fill("1")
    page.get_by_role("button", name="Encode").click()
    wait_for_bits(page, f"{0x3C00:016b}")
    assert problem.count() == 0


def test_sliders_move_the_fields_by_mouse_and_by_key(lab: Lab, page: Any) -> None:
    exponent = page.get_by_role("slider", name="Exponent field")
    exponent.focus()
    page.keyboard.press("ArrowRight")
    wait_for_readout(page, "biased", "01100")
    significand = page.get_by_role("slider", name="Significand field")
    box = significand.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] / 2 + 5 * step, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] + 20, box["y"] + box["height"] / 2)
    page.mouse.up()
    wait_for_bits(page, "0011001111111111")
    assert code(lab) == 0x33FF
    assert significand.input_value() == "1023"


def test_width_sliders_reshape_the_format_live_up_to_binary64(lab: Lab, page: Any) -> None:
    page.get_by_role("slider", name="Exponent width").press("End")
    page.get_by_role("slider", name="Significand width").press("End")
    wait_for_bits(page, f"{0x3FB999999999999A:064b}")
    assert page.get_by_role("radio", name="custom").is_checked()
    assert lab.run("print(x.value == 0.1, x.format.name)").split() == ["True", "ieee_e11m52"]
    page.get_by_role("slider", name="Significand field").fill(str(2**52 - 1))
    wait_for_bits(page, f"{0x3FBFFFFFFFFFFFFF:064b}")
    page.get_by_role("slider", name="Exponent width").press("Home")
    page.get_by_role("slider", name="Significand width").press("Home")
    page.locator(".amp-title", has_text="2 exponent + 1 significand").wait_for()
    assert lab.run("print(x.format.bits)").strip() == "4"


def test_presets_keep_their_own_rules_by_mouse_and_by_key(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="e4m3").click()
    page.locator(".amp-title", has_text="NaN but no infinity").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator(".amp-title", has_text="e3m2").wait_for()
    assert page.evaluate("document.activeElement.type") == "radio"
    assert lab.run("print(x.format.name)").strip() == "e3m2"
    lab.run("x.format = 'e8m0'")
    page.locator(".amp-title", has_text="no sign").wait_for()
    assert page.get_by_role("radio", name="e8m0").is_checked()
    assert page.get_by_role("button", name="Flip sign").is_disabled()


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = [".amp-bit", ".amp-actions button", "input[type=range]", "input[type=radio]"]
    press_shortcuts(lab, page, parts, page.get_by_label("Number", exact=True))


def test_tab_visits_each_part_once_and_in_reading_order(page: Any) -> None:
    page.get_by_role("radio", name="fp16").focus()
    describe = """() => {
        const e = document.activeElement;
        return e.getAttribute('aria-label') ?? e.labels?.[0]?.innerText ?? e.innerText;
    }"""
    visited = []
    for _ in range(10):
        page.keyboard.press("Tab")
        visited.append(re.split(r"\n", page.evaluate(describe))[0])
    assert visited == [
        "Number",
        "Encode",
        "Flip sign",
        "Next below",
        "Next above",
        "sign bit",
        "Exponent field",
        "Significand field",
        "Exponent width",
        "Significand width",
    ]
    page.keyboard.press("Shift+Tab")
    page.get_by_role("radio", name="fp16").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("!document.activeElement.closest('.amp-explorer')")


def test_one_sentence_is_told_after_each_change_and_stands_in_the_plain_text(
    lab: Lab, page: Any
) -> None:
    told = "fp16 0x2E66 is a normal number, 0.0999755859375, 0.4 ulp below 0.1."
    assert page.get_by_role("status").filter(has_text="0x2E66").inner_text() == told
    shown = lab.outputs()[0].strip()
    assert shown.endswith(told)
    assert shown == lab.run("print(explorer())").strip()
    page.get_by_role("button", name="Next above").click()
    page.get_by_role("status").filter(has_text="0x2E67").wait_for()


def test_nothing_sticks_out_at_400_pixels(lab: Lab, page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    for name in ("fp64", "fp16", "e8m0"):
        lab.run(f"x.format = '{name}'")
        page.locator(".amp-title", has_text=name).wait_for()
        overhang = page.evaluate(
            """() => {
                const box = document.querySelector('.amp-explorer');
                const edge = box.getBoundingClientRect().right;
                return Math.max(...[...box.querySelectorAll('.amp *')]
                    .map(e => e.getBoundingClientRect().right - edge));
            }"""
        )
        assert overhang <= 1, name


def test_axe_finds_nothing_in_either_theme(lab: Lab, page: Any) -> None:
    page.locator(".amp-number").first.fill("1.5x")
    page.keyboard.press("Enter")
    page.locator("[role=alert] mark").wait_for()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-explorer") == [], theme
