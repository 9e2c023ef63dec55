"""How long a widget takes from a gesture to the repainted page.

The aim is a 95th percentile under 100 ms. It is printed, not asserted: a loaded machine would
turn the suite red for no fault of the code.
"""

from __future__ import annotations

import statistics

from tests.benchmarks.machine import machine
from tests.browser.lab_session import Lab

AIM_MS = 100

# From the gesture until the new picture is painted: the page has changed, the callback before
# the next frame's painting has run, and then a message posted there, which comes after it.
_MEASURE = """async (count) => {
    const watched = document.querySelector(WATCHED);
    const gesture = GESTURE;
    const painted = () => new Promise(resolve => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = resolve;
        channel.port2.postMessage(null);
    }));
    const times = [];
    for (let i = 0; i < count; i += 1) {
        const changed = new Promise(resolve => {
            const observer = new MutationObserver(() => { observer.disconnect(); resolve(); });
            observer.observe(watched, CHANGES);
        });
        const start = performance.now();
        gesture(i);
        await changed;
        await painted();
        times.push(performance.now() - start);
        await new Promise(resolve => setTimeout(resolve, 50));
    }
    return times;
}"""


def print_repaint(
    lab: Lab,
    title: str,
    gesture: str,
    watched: str,
    changes: str = "{ childList: true }",
    count: int = 60,
) -> None:
    """Make gestures one after the other and print how long each took to show.

    `gesture` is a JavaScript function of the gesture's number, `watched` the CSS selector of an
    element that each gesture changes, `changes` what a MutationObserver has to watch of it.
    """
    script = _MEASURE.replace("WATCHED", repr(watched)).replace("GESTURE", gesture)
    times = sorted(lab.page.evaluate(script.replace("CHANGES", changes), count))
    assert len(times) == count
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
    print(
        f"\n{title}: gesture to repaint over {count}: median {statistics.median(times):.0f} ms, "
        f"p95 {p95:.0f} ms (aim {AIM_MS} ms), max {times[-1]:.0f} ms; {machine()}"
    )
