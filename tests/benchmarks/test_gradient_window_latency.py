"""How long a drag of the loss scale takes from the input event to the repainted bars.

    python -m pytest -m benchmark -s tests/benchmarks/test_gradient_window_latency.py

The aim is a 95th percentile under 100 ms; printed, not asserted, as for the explorer. Beside
it: how many updates a second a loop in the kernel can send.
"""

from __future__ import annotations

import statistics

import pytest

from tests.benchmarks.test_explorer_latency import AIM_MS, machine
from tests.browser.lab_session import Lab

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

DRAGS, UPDATES = 60, 100

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

# As in the explorer's benchmark: until the moved bars are painted. Every drag moves them all.
MEASURE = """async (drags) => {
    const input = document.querySelector('.amp-named-scale input');
    const bars = document.querySelector('.amp-bars');
    const painted = () => new Promise(resolve => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = resolve;
        channel.port2.postMessage(null);
    }));
    const times = [];
    for (let i = 0; i < drags; i += 1) {
        const changed = new Promise(resolve => {
            const observer = new MutationObserver(() => { observer.disconnect(); resolve(); });
            observer.observe(bars, { subtree: true, attributeFilter: ['style'] });
        });
        const start = performance.now();
        input.value = String((i + 1) % 25);
        input.dispatchEvent(new Event('input', { bubbles: true }));
        await changed;
        await painted();
        times.push(performance.now() - start);
        await new Promise(resolve => setTimeout(resolve, 50));
    }
    return times;
}"""


def test_a_drag_is_repainted_within_the_aim(lab: Lab) -> None:
    lab.open_cells([CELL])
    lab.run_all()
    lab.page.wait_for_selector(".amp-window [data-key=headroom]")
    times = sorted(lab.page.evaluate(MEASURE, DRAGS))
    assert len(times) == DRAGS
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
    per_update = 1000 * float(lab.run(LOOP)) / UPDATES
    print(
        f"\ndrag to repaint over {DRAGS} drags: median {statistics.median(times):.0f} ms, "
        f"p95 {p95:.0f} ms (aim {AIM_MS} ms), max {times[-1]:.0f} ms; "
        f"an update in a loop: {per_update:.1f} ms of the kernel; {machine()}"
    )
