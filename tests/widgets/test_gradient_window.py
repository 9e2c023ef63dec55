"""The gradient window's Python side: gestures in, traits and text out, no browser."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("anywidget")

from ampcourse.dynamic_range import ExponentHistogram, exponent_histogram
from ampcourse.widgets import gradient_window
from ampcourse.widgets.window.widget import GradientWindow, WindowPanel


def histogram(exponent: int, label: str) -> ExponentHistogram:
    return exponent_histogram([0.0, *(1.5 * 2.0 ** (exponent + i) for i in range(4))], label)


STEPS = {
    0: [histogram(-26, "conv"), histogram(-3, "fc")],
    5: [histogram(-30, "conv"), histogram(-4, "fc")],
}


def gesture(widget: GradientWindow, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    panel(widget)._handle_custom_msg(content, [])


def panel(widget: GradientWindow) -> Any:
    return widget.children[0]


def test_it_starts_at_the_first_layer_of_the_last_step() -> None:
    x = gradient_window(STEPS)
    assert (x.format.name, x.scale, x.layer, x.step) == ("fp16", 1.0, "conv", 5)
    assert x.report.flushed == 4


def test_format_scale_layer_and_step_can_be_assigned() -> None:
    x = gradient_window(STEPS)
    x.step = 0
    assert x.report.flushed == 1
    x.scale = 2
    assert x.report.flushed == 0
    x.layer, x.format = "fc", "e4m3"
    assert panel(x).readout["sentence"].startswith("fc in e4m3, loss scale 2:")


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ({"gesture": "scale", "to": "10"}, ("fp16", 1024.0, "conv", 5)),
        ({"gesture": "format", "to": "bf16"}, ("bf16", 1.0, "conv", 5)),
        ({"gesture": "layer", "to": "fc"}, ("fp16", 1.0, "fc", 5)),
        ({"gesture": "step", "to": "0"}, ("fp16", 1.0, "conv", 0)),
        ({"gesture": "step", "to": "1"}, ("fp16", 1.0, "conv", 5)),
        ({"gesture": "scale", "to": "99"}, ("fp16", 2.0**24, "conv", 5)),
    ],
)
def test_a_gesture_changes_the_state(content: dict[str, Any], read: tuple[Any, ...]) -> None:
    x = gradient_window(STEPS)
    gesture(x, **content)
    assert (x.format.name, x.scale, x.layer, x.step) == read
    assert panel(x).answered == 1
    assert panel(x).problem == {}


def test_bar_heights_can_be_logarithmic() -> None:
    x = gradient_window(STEPS)
    before = panel(x).readout["bars"]
    gesture(x, gesture="height", to="log")
    assert panel(x).readout["height"] == "log"
    assert len(panel(x).readout["bars"]) == len(before)


def test_a_gesture_for_a_layer_that_is_gone_is_refused_in_words() -> None:
    x = gradient_window(STEPS)
    x.update(histogram(0, "other"))
    gesture(x, gesture="layer", to="conv")
    assert "unknown layer 'conv'; there is other" in panel(x).problem["message"]
    gesture(x, gesture="step", to="1")
    assert panel(x).problem["message"]
    assert (x.layer, panel(x).answered) == ("other", 2)


def test_an_update_keeps_layer_format_and_scale() -> None:
    x = gradient_window(STEPS, "e5m2", scale=16)
    x.layer = "fc"
    x.update([histogram(-20, "conv"), histogram(-7, "fc")])
    assert (x.format.name, x.scale, x.layer, x.step) == ("e5m2", 16.0, "fc", 0)
    assert x.state.histogram == histogram(-7, "fc")


def test_an_update_with_a_step_is_followed_from_the_last_step_only() -> None:
    x = gradient_window(STEPS)
    x.update(STEPS[0], step=9)
    assert (x.step, panel(x).readout["step"]) == (9, [2, 2, "9 (3 of 3)"])
    x.step = 0
    x.update(STEPS[0], step=12)
    assert (x.step, panel(x).readout["step"][1]) == (0, 3)
    x.update(STEPS[0], step=12)  # the same step again takes its place
    assert panel(x).readout["step"][1] == 3


def test_a_refused_update_changes_nothing() -> None:
    x = gradient_window(STEPS)
    before = x.state
    nothing: list[Any] = [[], 7, {"counts": []}]
    for wrong in nothing:
        with pytest.raises((ValueError, TypeError)):
            x.update(wrong)
    assert x.state is before


def test_the_axis_stays_while_the_scale_slides() -> None:
    x = gradient_window(STEPS)
    axes = set()
    for shift in range(25):
        gesture(x, gesture="scale", to=str(shift))
        axes.add(tuple(tick["exponent"] for tick in panel(x).readout["ticks"]))
    assert len(axes) == 1


def test_assigning_nonsense_raises_and_changes_nothing() -> None:
    x = gradient_window(STEPS)
    before = x.state
    wrong = {"format": "fp17", "scale": 3, "layer": "conv9", "step": 4}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=r"fp17|power of two|conv9|unknown step 4"):
            setattr(x, name, value)
    assert x.state is before


def test_a_format_of_ones_own_joins_the_choices() -> None:
    formats = panel(gradient_window(STEPS, "e3m2")).choices["formats"]
    assert [value for value, _ in formats] == ["fp16", "bf16", "e5m2", "e4m3", "e3m2"]


def test_the_text_fallback_is_whole_and_the_same_each_time() -> None:
    first, second = (
        gradient_window(STEPS, scale=4)._repr_mimebundle_()["text/plain"] for _ in range(2)
    )
    assert first == second == repr(gradient_window(STEPS, scale=4))
    assert first.splitlines()[2] == "Flushed to 0   60.0 % of all, 3; 75.0 % of those not 0"
    assert first.endswith(
        "conv in fp16, loss scale 4: of the values that are not 0, 75.0 % are flushed to 0, "
        "25.0 % are subnormal, 0 % overflow; headroom 40 binades."
    )


def test_every_label_the_browser_asks_for_is_there() -> None:
    source = str(WindowPanel._esm)
    asked = set(re.findall(r"\blabels\.(\w+)", source)) - {"number", "encode"}
    assert asked - set(WindowPanel().labels) == set()
    assert asked


def test_importing_the_package_loads_neither_numpy_nor_a_widget_library() -> None:
    code = (
        "import sys, ampcourse.widgets as w; w.gradient_window; "
        "print([m for m in ('ipywidgets', 'anywidget', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_docstrings_example_holds() -> None:
    examples = doctest.DocTestFinder().find(
        gradient_window, globs={"gradient_window": gradient_window}
    )
    results = [doctest.DocTestRunner().run(example) for example in examples]
    assert [result.failed for result in results] == [0]
    assert results[0].attempted > 0
