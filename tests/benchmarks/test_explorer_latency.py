"""How long a flipped bit takes from the key press to the repainted value.

python -m pytest -m benchmark -s -n 0 tests/benchmarks/test_explorer_latency.py
"""

from __future__ import annotations

import pytest

from tests.benchmarks.repaint import print_repaint
from tests.browser.lab_session import Lab

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

FLIP = """i => {
    const bits = document.querySelectorAll('.amp-bit');
    bits[bits.length - 1 - (i % 10)].click();
}"""


@pytest.mark.parametrize("name", ["fp16", "fp64"])
def test_a_flip_is_repainted_within_the_aim(lab: Lab, name: str) -> None:
    lab.open_cells([f"from ampcourse.widgets import explorer\nx = explorer({name!r})\nx"])
    lab.run_all()
    lab.page.wait_for_selector(".amp-bit")
    text = "{ childList: true, subtree: true, characterData: true }"
    print_repaint(lab, f"explorer {name}", FLIP, "[data-key=value]", text)
