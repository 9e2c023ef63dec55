"""The type-flow graph in JupyterLab: through the ops by key, devices and types switched."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab
from tests.browser.layout import overhang

pytestmark = pytest.mark.browser

WIDGET = "from ampcourse.widgets import type_flow\nx = type_flow('pitfalls')\nx"


@pytest.fixture
def page(lab: Lab) -> Any:
    lab.open_cells([WIDGET, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-op")
    return lab.page


def told(page: Any, text: str) -> None:
    """Wait for the sentence that a screen reader gets."""
    page.get_by_role("status").filter(has_text=text).wait_for()


def chosen(page: Any) -> Any:
    return page.locator(".amp-op[aria-selected=true]")


def test_arrow_keys_go_through_the_ops_and_the_kernel_follows(lab: Lab, page: Any) -> None:
    chosen(page).focus()
    page.keyboard.press("ArrowDown")
    told(page, "big = exp: is on no list and follows its inputs; gives bfloat16.")
    page.keyboard.press("End")
    told(page, "better = binary_cross_entropy_with_logits: is on the float32 list")
    page.keyboard.press("ArrowUp")
    told(page, "bce = binary_cross_entropy: is on the float32 list")
    assert page.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
    assert lab.run("print(x.op)").strip() == "bce"
    assert "p: bfloat16, cast to float32" in page.locator("[data-key=inputs]").inner_text()


def test_on_cuda_binary_cross_entropy_is_refused_in_words_and_by_a_sign(
    lab: Lab, page: Any
) -> None:
    page.get_by_role("radio", name="CUDA").check()
    row = page.get_by_role("option", name="bce = binary_cross_entropy")
    row.locator(".amp-badge", has_text="✕").wait_for()
    row.first.click()
    told(page, "bce = binary_cross_entropy: gives no result here.")
    assert "an error" in page.locator("[data-key=output]").inner_text()
    assert lab.run("print(x.device, x.op)").split() == ["cuda", "bce"]


def test_the_cross_of_an_op_without_a_result_is_in_the_legend_where_there_is_one(
    lab: Lab, page: Any
) -> None:
    legend = page.locator(".amp-legend-item", has_text="no result")
    assert not legend.is_visible()
    assert page.locator(".amp-refused").count() == 0
    page.get_by_role("radio", name="CUDA").check()
    legend.wait_for(state="visible")
    without = lab.run("print(sum(flow.gives == 'nothing' for flow in x.flows))")
    assert page.locator(".amp-refused").count() == int(without)
    page.get_by_role("radio", name="small CNN").check()
    legend.wait_for(state="hidden")


def test_types_are_told_by_width_and_dashes_not_only_by_colour(lab: Lab, page: Any) -> None:
    style = "e => [getComputedStyle(e).strokeWidth, getComputedStyle(e).strokeDasharray]"
    wide = page.locator(".amp-edge.amp-wide").first.evaluate(style)
    narrow = page.locator(".amp-edge.amp-narrow").first.evaluate(style)
    assert wide == ["5px", "none"]
    assert narrow[0] == "2px"
    assert narrow[1] != "none"
    assert page.locator(".amp-cast").count() == 4


def test_another_net_starts_at_its_first_op_and_keeps_the_focus(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="transformer block").check()
    told(page, "n1 = layer_norm")
    lab.run("x.lower = 'float16'")
    page.locator(".amp-note", has_text="CPU, float16: 10 of 14 ops give float16").wait_for()
    assert page.locator(".amp-op").count() == 15


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    press_shortcuts(lab, page, [".amp-op[aria-selected=true]", "input[type=radio]"])


@pytest.mark.parametrize("width", [360, 700])
def test_nothing_sticks_out_of_a_narrow_page(lab: Lab, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1200})
    page.get_by_role("radio", name="CUDA").check()
    page.locator(".amp-note", has_text="CUDA").wait_for()
    assert overhang(page, ".amp-explorer") <= 1


def test_axe_finds_nothing_and_the_plain_text_is_there(lab: Lab, page: Any) -> None:
    assert lab.outputs()[0].strip() == lab.run("print(type_flow('pitfalls'))").strip()
    page.get_by_role("radio", name="CUDA").check()
    page.locator(".amp-note", has_text="CUDA").wait_for()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-explorer") == [], theme
    page.set_viewport_size({"width": 400, "height": 1200})
    assert violations(page, ".amp-explorer") == []
