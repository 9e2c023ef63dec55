"""How long the scaler scrubber takes from a gesture to the repainted timeline.

    python -m pytest -m benchmark -s -n 0 tests/benchmarks/test_scaler_scrubber_latency.py

An inf goes to Python and back; scrubbing is drawn by the browser alone.
"""

from __future__ import annotations

import pytest

from tests.benchmarks.repaint import print_repaint
from tests.browser.lab_session import Lab

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

#: Gesture, the element it changes, and how.
GESTURES = {
    "inf": (
        "() => document.querySelector('.amp-inject').click()",
        ".amp-plot path",
        "{ attributes: true }",
    ),
    "scrub": (
        """i => {
            const scrub = document.querySelector('.amp-scrub');
            scrub.value = 2 + i % 30;
            scrub.dispatchEvent(new Event('input'));
        }""",
        ".amp-sentence",
        "{ childList: true }",
    ),
}


@pytest.mark.parametrize("kind", GESTURES)
@pytest.mark.parametrize("steps", [40, 200])
def test_a_gesture_is_repainted_within_the_aim(lab: Lab, kind: str, steps: int) -> None:
    code = f"from ampcourse.widgets import scaler_scrubber\nx = scaler_scrubber(steps={steps})\nx"
    lab.open_cells([code])
    lab.run_all()
    lab.page.wait_for_selector(".amp-column")
    print_repaint(lab, f"scaler, {kind}, {steps} steps", *GESTURES[kind], count=40)
