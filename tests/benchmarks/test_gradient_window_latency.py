"""How long a drag of the loss scale takes from the input event to the repainted bars.

    python -m pytest -m benchmark -s -n 0 tests/benchmarks/test_gradient_window_latency.py

Beside it: how many updates a second a loop in the kernel can send.
"""

from __future__ import annotations

import pytest

from tests.benchmarks.machine import machine
from tests.benchmarks.repaint import print_repaint
from tests.browser.lab_session import Lab

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

UPDATES = 100

CELL = """import time
import numpy as np
from ampcourse.dynamic_range import exponent_histogram
from ampcourse.widgets import gradient_window
values = 2.0 ** (-20 + 8 * np.random.default_rng(0).standard_normal(100_000))
pair = [exponent_histogram(v, 'layer') for v in (values, values / 2)]
x = gradient_window(pair[0])
x"""
LOOP = f"""start = time.perf_counter()
for i in range({UPDATES}): x.update(pair[i % 2])
print(time.perf_counter() - start)"""

DRAG = """i => {
    const input = document.querySelector('.amp-named-scale input');
    input.value = String((i + 1) % 25);
    input.dispatchEvent(new Event('input', { bubbles: true }));
}"""


def test_a_drag_is_repainted_within_the_aim(lab: Lab) -> None:
    lab.open_cells([CELL])
    lab.run_all()
    lab.page.wait_for_selector(".amp-window [data-key=headroom]")
    moved = "{ subtree: true, attributeFilter: ['style'] }"  # every drag moves all bars
    print_repaint(lab, "gradient window", DRAG, ".amp-bars", moved)
    per_update = 1000 * float(lab.run(LOOP)) / UPDATES
    print(f"an update in a loop: {per_update:.1f} ms of the kernel; {machine()}")
