"""How long a drag of Δ takes from the slider's input event to the repainted number line.

python -m pytest -m benchmark -s -n 0 tests/benchmarks/test_lost_update_latency.py
"""

from __future__ import annotations

import pytest

from tests.benchmarks.repaint import print_repaint
from tests.browser.lab_session import Lab

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

DRAG = """i => {
    const input = document.querySelector('.amp-delta-range');
    input.value = String(Number(input.max) * (i + 1) / 61);
    input.dispatchEvent(new Event('input', { bubbles: true }));
}"""


@pytest.mark.parametrize(
    ("name", "mode"), [("fp16", "nearest_even"), ("fp32", "nearest_even"), ("fp32", "stochastic")]
)
def test_a_drag_is_repainted_within_the_aim(lab: Lab, name: str, mode: str) -> None:
    lab.open_cells(
        [f"from ampcourse.widgets import lost_update\nlost_update({name!r}, mode={mode!r})"]
    )
    lab.run_all()
    lab.page.wait_for_selector(".amp-update .amp-verdict:not(:empty)")
    print_repaint(lab, f"lost update {name}, {mode}", DRAG, ".amp-update-line")
