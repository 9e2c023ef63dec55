"""How long the block FMA takes from a gesture to the repainted picture.

    python -m pytest -m benchmark -s -n 0 tests/benchmarks/test_block_fma_latency.py

A number typed goes to Python and back; a stage is drawn by the browser alone.
"""

from __future__ import annotations

import pytest

from tests.benchmarks.repaint import print_repaint
from tests.browser.lab_session import Lab

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

GESTURES = {
    "number": """i => {
        const field = document.querySelector('[data-field=c]');
        field.value = `${i + 4}*2^-14`;
        field.dispatchEvent(new Event('change'));
    }""",
    "stage": """i => {
        const radios = document.querySelectorAll('.amp-stepper input[type=radio]');
        radios[(i + 1) % 6].click();
    }""",
}


@pytest.mark.parametrize("kind", GESTURES)
@pytest.mark.parametrize("terms", [2, 16])
def test_a_gesture_is_repainted_within_the_aim(lab: Lab, kind: str, terms: int) -> None:
    numbers = f"('2^-11',) * {terms}, ('2^-11',) * {terms}, '3*2^-14'"
    lab.open_cells([f"from ampcourse.widgets import block_fma\nx = block_fma({numbers})\nx"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-block tbody tr")
    title = f"block FMA, {kind}, {terms} terms"
    print_repaint(lab, title, GESTURES[kind], ".amp-block tbody", count=40)
