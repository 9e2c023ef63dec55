"""The memory widgets in JupyterLab: recipes, single assumptions and sliders, all by key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab
from tests.browser.layout import overhang

pytestmark = pytest.mark.browser

WIDGETS = (
    "from ampcourse.widgets import checkpoint_segments, memory_ledger\n"
    "x = memory_ledger('adam', 'O2', 'perceptron', 1)\nx",
    "y = checkpoint_segments(25, 1)\ny",
)


@pytest.fixture
def page(lab: Lab) -> Any:
    lab.open_cells([*WIDGETS, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-bar-row")
    lab.page.wait_for_selector(".amp-chain .amp-layer")
    return lab.page


def told(page: Any, text: str) -> None:
    """Wait for the sentence that a screen reader gets."""
    page.get_by_role("status").filter(has_text=text).wait_for()


def test_assumptions_switched_by_key_lead_from_20_to_16_to_18_bytes(lab: Lab, page: Any) -> None:
    box = page.get_by_role("checkbox", name="FP32 master gradients")
    box.focus()
    page.keyboard.press("Space")
    page.locator(".amp-per-parameter", has_text="16 bytes per parameter.").wait_for()
    page.get_by_role("checkbox", name="gradients in 16 bits").focus()
    page.keyboard.press("Space")
    page.locator(".amp-per-parameter", has_text="18 bytes per parameter.").wait_for()
    assert lab.run("print(x.recipe, x.ledger.kept)").split() == ["own", "18"]
    assert page.locator("input[type=radio][value=O2]").is_checked() is False


def test_a_refused_assumption_goes_back_and_the_reason_is_told(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="autocast").check()
    told(page, "autocast: the peak is 2 GiB, at the optimizer's step")
    page.get_by_role("checkbox", name="FP32 master weights").click()
    page.locator("[role=alert]", has_text="would be the same numbers twice").wait_for()
    assert page.get_by_role("checkbox", name="FP32 master weights").is_checked() is False
    assert lab.run("print(x.recipe)").strip() == "autocast"


def test_arrow_keys_move_batch_and_segments_and_the_kernel_follows(lab: Lab, page: Any) -> None:
    page.get_by_role("slider", name="Batch").focus()
    page.keyboard.press("End")
    page.locator("output", has_text="4096").wait_for()
    assert lab.run("print(x.batch)").strip() == "4096"
    slider = page.get_by_role("slider", name="Segments")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    told(page, "25 layers in 5 segments: at most 9 of 25 inputs held")
    assert lab.run("print(y.segments, y.peak, y.recomputed)").split() == ["5", "9", "20"]
    assert slider.get_attribute("aria-valuetext") == "5"
    page.get_by_role("slider", name="Layers").focus()
    page.keyboard.press("Home")
    told(page, "1 layers in 1 segment")
    assert slider.get_attribute("max") == "1"


def test_parts_are_told_by_letters_and_words_not_only_by_colour(page: Any) -> None:
    bar = page.get_by_role("list", name="optimizer's step")
    parts = bar.get_by_role("listitem").all_inner_texts()
    assert [text.split()[0] for text in parts] == ["W", "M", "G", "D", "S", "T"]
    assert "master weights, 512 MiB" in parts[1]
    held = page.locator(".amp-chain .amp-layer-held")
    assert held.all_inner_texts() == ["H"] * 25


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = ["input[type=checkbox]", "input[type=radio]", "input[type=range]"]
    press_shortcuts(lab, page, parts)


@pytest.mark.parametrize("width", [360, 700])
def test_nothing_sticks_out_of_a_narrow_page(lab: Lab, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1400})
    lab.run("y.segments = 25; x.recipe = 'fp32'")
    told(page, "25 layers in 25 segments")
    assert overhang(page, ".amp-explorer:has(.amp-bars)") <= 1
    assert overhang(page, ".amp-explorer:has(.amp-chain)") <= 1


def test_axe_finds_nothing_and_the_plain_text_is_there(lab: Lab, page: Any) -> None:
    assert lab.outputs()[0].strip() == lab.run("print(x)").strip()
    assert lab.outputs()[1].strip() == lab.run("print(y)").strip()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        for part in (".amp-bars", ".amp-chain"):
            assert violations(page, f".amp-explorer:has({part})") == [], (theme, part)
