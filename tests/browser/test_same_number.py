"""One number in eight formats, in JupyterLab."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.lab_session import Lab

pytestmark = pytest.mark.browser

SAME_NUMBER = "from ampcourse.widgets import same_number\ny = same_number('0.1')\ny"


@pytest.fixture
def page(lab: Lab) -> Any:
    """Return a page that shows 0.1 in eight formats."""
    lab.open_cells([SAME_NUMBER, "'a cell below'"])
    lab.run_all()
    lab.page.wait_for_selector("tr[data-format=e8m0]")
    return lab.page


def row(page: Any, name: str) -> str:
    return str(page.locator(f"tr[data-format={name}]").inner_text())


def test_a_typed_number_fills_every_row_and_python_reads_it(lab: Lab, page: Any) -> None:
    assert "0.0999755859375" in row(page, "fp16")
    field = page.get_by_label("Number", exact=True)
    field.fill("65520")
    field.press("Enter")
    page.locator("tr[data-format=fp16]", has_text="overflows to infinity").wait_for()
    assert "stops at its largest number, 6" in row(page, "e2m1")
    assert "having no infinity" in row(page, "e4m3")
    assert lab.run("print(y.typed, hex(y.rows['fp16'].code))").split() == ["65520", "0x7c00"]
    field.fill("1,5")
    field.press("Enter")
    assert page.locator("[role=alert] mark").inner_text() == ","
    assert "overflows" in row(page, "fp16")
    assert lab.cell_count() == 2
    field.fill("nan")
    field.press("Enter")
    page.get_by_role("status").filter(has_text="e2m1 has no NaN").wait_for()


def test_the_table_is_one_for_a_screen_reader_at_400_pixels_too(lab: Lab, page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 2000})
    table = page.get_by_role("table", name="One number in eight formats")
    assert table.get_by_role("rowheader").count() == 8
    assert table.get_by_role("columnheader").count() == 4
    overhang = page.evaluate(
        """() => {
            const edge = document.querySelector('.amp').getBoundingClientRect().right;
            return Math.max(...[...document.querySelectorAll('.amp *')]
                .map(e => e.getBoundingClientRect().right - edge));
        }"""
    )
    assert overhang <= 1
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        assert violations(page, ".amp-explorer") == [], theme
