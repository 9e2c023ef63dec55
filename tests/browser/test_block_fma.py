"""The block FMA in JupyterLab: stages by mouse and key, numbers typed, bits that fall off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.keyboard import press_shortcuts
from tests.browser.lab_session import Lab

pytestmark = pytest.mark.browser

WIDGET = "from ampcourse.widgets import block_fma\nx = block_fma(gpu='A100')\nx"


@pytest.fixture
def page(lab: Lab) -> Any:
    """Return a page that shows the sum that tells GPUs apart, on an A100."""
    lab.open_cells([WIDGET, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-block tbody tr")
    return lab.page


def stage(page: Any, name: str) -> None:
    page.get_by_role("radio", name=name).check()


def told(page: Any, text: str) -> None:
    page.get_by_role("status").filter(has_text=text).wait_for()


def drawn(page: Any, row: str) -> tuple[str, str]:
    """Return the digits that stay and those that fall off."""
    bits = page.locator(f"[data-row='{row}'] .amp-line-bits .amp-b")
    texts = bits.all_inner_texts()
    off = bits.evaluate_all("all => all.map(b => b.classList.contains('amp-off'))")
    kept = "".join(t for t, gone in zip(texts, off, strict=True) if not gone)
    return kept, "".join(t for t, gone in zip(texts, off, strict=True) if gone)


def left(page: Any, row: str) -> float:
    return float(page.locator(f"[data-row='{row}'] .amp-b").first.bounding_box()["x"])


def test_the_stages_show_one_thing_after_the_other_by_key(lab: Lab, page: Any) -> None:
    assert page.locator("[data-row='0'] .amp-exp").inner_text() == ""
    assert left(page, "0") == left(page, "c")
    page.get_by_role("radio", name="1 products").focus()
    page.keyboard.press("ArrowRight")
    told(page, "The largest is emax = 11")
    assert "11 + 0 = 11" in page.locator("[data-row='0'] .amp-exp").inner_text()
    page.keyboard.press("ArrowRight")
    told(page, "shifted to one grid")
    assert left(page, "c") > left(page, "0") + 100
    assert drawn(page, "c") == ("11", "")
    page.keyboard.press("ArrowRight")
    told(page, "1 of 3 terms")
    assert drawn(page, "c") == ("1", "1")
    assert page.locator("[data-row=sum]").count() == 0
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[data-row=sum]")
    assert page.locator("[data-row=result]").count() == 0
    page.keyboard.press("ArrowRight")
    told(page, "less")
    assert "A100 gives" in page.locator("[data-row=result]").inner_text()
    assert drawn(page, "exact") == ("11", "")
    assert lab.run("print(x.stage, x.block)").split() == ["rounding", "0"]


def test_a_bit_that_falls_off_is_struck_and_framed_not_only_coloured(page: Any) -> None:
    stage(page, "4 cut")
    style = "b => { const s = getComputedStyle(b); return [s.textDecorationLine, s.borderStyle] }"
    bits = page.locator("[data-row='c'] .amp-b")
    assert bits.nth(0).evaluate(style) == ["none", "none"]
    assert bits.nth(1).evaluate(style) == ["line-through", "dashed"]


def test_next_and_previous_go_through_all_blocks(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="V100").check()
    page.locator(".amp-block-name", has_text="Block 1 of 2").wait_for()
    following = page.get_by_role("button", name="Next")
    following.focus()
    for _ in range(6):
        page.keyboard.press("Enter")
    page.locator(".amp-block-name", has_text="Block 2 of 2").wait_for()
    assert page.get_by_role("radio", name="1 products").is_checked()
    page.get_by_role("button", name="Previous").press("Space")
    page.locator(".amp-block-name", has_text="Block 1 of 2").wait_for()
    assert page.get_by_role("radio", name="6 rounding").is_checked()
    for _ in range(9):
        following.press("Enter")  # stays at the end, and stays in reach
    assert following.evaluate("b => b === document.activeElement")
    assert following.get_attribute("aria-disabled") == "true"
    assert lab.run("print(x.block, x.stage)").split() == ["1", "rounding"]


def test_a_number_is_typed_rounded_with_a_note_or_refused_with_the_place(
    lab: Lab, page: Any
) -> None:
    field = page.get_by_label("a 4", exact=True)
    field.fill("0.1")
    field.press("Enter")
    page.locator(".amp-notes", has_text="0.1 is not a number of fp16: 0.0999755859375").wait_for()
    field.fill("1.5x3")
    field.press("Enter")
    page.locator("[role=alert] mark").wait_for()
    assert page.locator("[role=alert] mark").inner_text() == "x"
    assert (field.input_value(), field.get_attribute("aria-invalid")) == ("1.5x3", "true")
    assert lab.run("print(x.state.entry('a4').value)").strip() == "0.0999755859375"
    field.press("Enter")  # the same text again is refused again
    field.fill("-2^11")
    field.press("Tab")
    page.wait_for_function("() => !document.querySelector('[aria-invalid=true]')")
    assert lab.run("print(x.result == 2**-13)").strip() == "True"
    assert page.locator(".amp-notes > span").count() == 0


def test_terms_are_added_moved_and_removed_with_the_focus_where_it_is_needed(
    lab: Lab, page: Any
) -> None:
    page.get_by_role("button", name="Add a term").press("Enter")
    page.get_by_label("a 1", exact=True).wait_for()
    focused = "document.activeElement.dataset.field"
    assert page.evaluate(focused) == "a1"
    place = page.locator("[data-field=k1]")
    place.fill("4")
    place.press("Enter")
    page.locator("[role=alert]", has_text="Term 4 is there already").wait_for()
    place.fill("7")
    place.press("Enter")
    page.get_by_label("a 7", exact=True).wait_for()
    assert page.evaluate(focused) == "k7"
    assert lab.run("print(*[t.place for t in x.state.terms])").split() == ["0", "4", "7"]
    page.get_by_role("button", name="Remove term 4").click()
    page.wait_for_function("() => !document.querySelector('[data-field=a4]')")
    assert page.evaluate(focused) == "a7"
    assert lab.run("print(*[t.place for t in x.state.terms])").split() == ["0", "7"]


def test_examples_and_selectors_change_the_numbers(lab: Lab, page: Any) -> None:
    page.get_by_role("button", name="Sixteen crumbs").click()
    page.get_by_label("a 15", exact=True).wait_for()
    page.get_by_role("radio", name="H100").check()
    page.locator(".amp-block-title", has_text="blocks of 16 products").wait_for()
    assert page.locator("tbody tr").count() == 17
    page.get_by_role("radio", name="e4m3").check()
    page.locator(".amp-block-title", has_text="blocks of 32 products").wait_for()
    page.get_by_role("radio", name="V100").check()
    page.locator(".amp-note", has_text="V100 has no e4m3").wait_for()
    assert page.get_by_role("radio", name="bf16").is_disabled()
    page.locator("summary").click()
    assert "T4, A100" in page.locator(".amp-every").inner_text()
    lab.run("x.gpu = 'A2'; x.stage = 'sum'")
    page.wait_for_selector("[data-row=sum]")
    assert page.get_by_role("radio", name="A2").is_checked()


def test_jupyterlab_takes_no_key_from_any_part(lab: Lab, page: Any) -> None:
    parts = [".amp-pill input", ".amp-presets button", ".amp-remove", ".amp-scroll", "summary"]
    press_shortcuts(lab, page, parts, page.locator("[data-field=c]"))


def test_the_picture_is_a_table_and_stands_in_the_plain_text(lab: Lab, page: Any) -> None:
    stage(page, "6 rounding")
    page.wait_for_selector("[data-row=result]")
    table = page.get_by_role("table", name="The terms of the block")
    assert table.get_by_role("rowheader").count() == 6
    assert table.get_by_role("columnheader").count() == 4
    assert "1 bit kept, 1 cut off" in table.get_by_role("row").nth(3).inner_text()
    assert lab.outputs()[0].strip() == lab.run("print(block_fma(gpu='A100'))").strip()


@pytest.mark.parametrize("width", [360, 700])
def test_the_page_never_scrolls_sideways(lab: Lab, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1200})
    for example in ("which_gpu", "crumbs", "random"):
        page.locator(f"[data-preset={example}]").click()
        stage(page, "6 rounding")
        page.wait_for_selector("[data-row=exact]")
        overhang = page.evaluate(
            """() => {
                const box = document.querySelector('.amp-explorer');
                const edge = box.getBoundingClientRect().right;
                return Math.max(...[...box.querySelectorAll('.amp *')]
                    .filter(e => !e.closest('.amp-scroll > *'))
                    .map(e => e.getBoundingClientRect().right - edge));
            }"""
        )
        assert overhang <= 1, example
    stuck = page.locator(".amp-scroll").evaluate("e => e.scrollWidth > e.clientWidth")
    if stuck:  # what sticks out can be reached by key
        page.locator(".amp-scroll").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.querySelector('.amp-scroll').scrollLeft > 0")


BUSY = """() => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    kernel.requestExecute({ code: "import time; time.sleep(1)" });
}"""


def test_a_late_answer_leaves_what_is_being_typed_elsewhere(page: Any) -> None:
    field, before = page.locator("[data-field=c]"), drawn(page, "0")
    page.evaluate(BUSY)
    page.get_by_label("a 0", exact=True).fill("0.1")
    page.keyboard.press("Enter")
    field.fill("1.5x")
    assert drawn(page, "0") == before  # not answered yet
    page.locator("[data-row='0'] .amp-b").nth(len(before[0])).wait_for()  # 0.1 has more bits
    assert field.input_value() == "1.5x"


def test_axe_finds_nothing_in_either_theme(lab: Lab, page: Any) -> None:
    page.get_by_role("radio", name="V100").check()
    stage(page, "4 cut")
    field = page.get_by_label("a 0", exact=True)
    field.fill("0.1")
    field.press("Enter")
    page.locator("[data-field=c]").fill("1.5x")
    page.keyboard.press("Enter")
    page.locator("[role=alert] mark").wait_for()
    page.locator("summary").click()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        for name in ("4 cut", "6 rounding"):
            stage(page, name)
            assert violations(page, ".amp-explorer") == [], (theme, name)
