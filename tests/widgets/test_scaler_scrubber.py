"""The scaler scrubber's Python side: the trace is torch's, gestures in, traits and text out."""

import doctest
import math
import random
import re
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("anywidget")

from ampcourse.widgets import scaler_scrubber
from ampcourse.widgets.scaler import picture as scaler_picture
from ampcourse.widgets.scaler import words
from ampcourse.widgets.scaler.picture import scale_text, ticks
from ampcourse.widgets.scaler.trace import MAX_INTERVAL, MAX_STEPS
from ampcourse.widgets.scaler.widget import ScalerPanel, ScalerScrubber


def panel(widget: ScalerScrubber) -> Any:
    return widget.children[-1]


def gesture(widget: ScalerScrubber, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    panel(widget)._handle_custom_msg(content, [])


def scales(widget: ScalerScrubber) -> list[float]:
    return [step.after.scale for step in widget.history]


@pytest.mark.parametrize("seed", range(8))
def test_the_trace_is_that_of_the_kernel_behind_torchs_gradscaler(seed: int) -> None:
    torch = pytest.importorskip("torch")
    draw = random.Random(seed)
    growth, backoff = draw.choice([2.0, 1.1, 1000.0]), draw.choice([0.5, 0.3, 0.001])
    interval, steps = draw.randint(1, 6), 60
    infs = {step for step in range(1, steps + 1) if draw.random() < 0.2}
    x = scaler_scrubber(2.0**16, growth, backoff, interval, steps, infs=infs)
    scale = torch.full((), 2.0**16)
    tracker = torch.zeros((), dtype=torch.int32)
    for step in x.history:
        assert step.before.scale == scale.item()
        found = torch.tensor(float(step.number in infs))
        torch._amp_update_scale_(scale, tracker, found, growth, backoff, interval)
        assert (step.after.scale, step.after.growth_tracker) == (scale.item(), tracker.item())
        assert step.found_inf == (step.number in infs)


def test_an_inf_backs_off_and_restarts_the_count() -> None:
    x = scaler_scrubber(growth_interval=3, steps=8, infs=(5,))
    assert [s.event for s in x.history] == [
        *("counted", "counted", "grown"),
        *("counted", "skipped"),
        *("counted", "counted", "grown"),
    ]
    assert [math.log2(scale) for scale in scales(x)] == [16, 16, 17, 17, 16, 16, 16, 17]
    assert [s.after.growth_tracker for s in x.history] == [1, 2, 0, 1, 0, 1, 2, 0]


def test_an_injected_inf_changes_the_future_and_not_the_past() -> None:
    x = scaler_scrubber()
    before = scales(x)
    gesture(x, gesture="toggle", step=12)
    assert x.infs == {12}
    assert scales(x)[:11] == before[:11]
    assert scales(x)[11] == before[11] / 2
    assert scales(x)[-1] < before[-1]
    assert panel(x).settings["infs"] == [12]
    assert panel(x).timeline["events"][11] == "skipped"
    gesture(x, gesture="toggle", step=12)
    assert scales(x) == before
    x.infs = (3, 4)
    gesture(x, gesture="clear")
    assert x.infs == frozenset()
    assert panel(x).answered == 3


@pytest.mark.parametrize(
    ("content", "scale"),
    [
        ({"gesture": "setting", "field": "growth_factor", "text": "4"}, 2.0**20),
        ({"gesture": "setting", "field": "init_scale", "text": "2^10"}, 2.0**12),
        ({"gesture": "interval", "to": "2"}, 2.0**21),
        ({"gesture": "interval", "to": "20"}, 2.0**16),
    ],
)
def test_a_setting_changes_the_whole_trace(content: dict[str, Any], scale: float) -> None:
    x = scaler_scrubber(steps=10)
    gesture(x, **content)
    assert scales(x)[-1] == scale
    assert panel(x).problem == {}


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("growth_factor", "1", "growth factor 1 is not larger than 1"),
        ("growth_factor", "inf", "not larger than 1"),
        ("backoff_factor", "1", "backoff factor 1 is not between 0 and 1"),
        ("backoff_factor", "0", "not between 0 and 1"),
        ("backoff_factor", "nan", "not between 0 and 1"),
        ("init_scale", "0", "no positive number of float32"),
        ("init_scale", "-1", "no positive number of float32"),
        ("init_scale", "1e39", "no positive number of float32"),
        ("init_scale", "2^1200", "no positive number of float32"),
        ("init_scale", "2^", "whole exponent"),
    ],
)
def test_a_refused_setting_names_its_field_and_changes_nothing(
    field: str, text: str, message: str
) -> None:
    x = scaler_scrubber()
    before = x.trace
    gesture(x, gesture="setting", field=field, text=text)
    assert x.trace == before
    assert panel(x).problem["field"] == field
    assert message in panel(x).problem["message"]
    assert panel(x).answered == 1
    settings: dict[str, Any] = {field: text}
    with pytest.raises(ValueError, match=re.escape(message)):
        scaler_scrubber(**settings)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"growth_interval": 0}, f"growth_interval is 0; it goes from 1 to {MAX_INTERVAL}"),
        ({"steps": 0}, f"steps is 0; it goes from 1 to {MAX_STEPS}"),
        ({"steps": MAX_STEPS + 1}, "from 1 to"),
        ({"infs": (41,)}, "a step with an inf is 41; it goes from 1 to 40"),
        ({"infs": (0,)}, "a step with an inf is 0"),
    ],
)
def test_counts_out_of_range_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scaler_scrubber(**wrong)


def test_the_step_is_read_and_assigned() -> None:
    x = scaler_scrubber()
    assert x.step == 1
    x.step = 40
    assert panel(x).step == 40
    with pytest.raises(ValueError, match="step is 41"):
        x.step = 41


def test_the_drawing_shows_and_says_the_state_before_each_step() -> None:
    x = scaler_scrubber(growth_interval=3, infs=(2,))
    assert panel(x).timeline["trackers"][:6] == [0, 1, 0, 1, 2, 0]
    assert [2.0**height for height in panel(x).timeline["heights"]] == [
        step.before.scale for step in x.history
    ]
    assert panel(x).labels["timeline"].endswith("before each step")


def test_read_outs_say_what_was_found_decided_and_left() -> None:
    x = scaler_scrubber(infs=(7,))
    shown = [
        {row["key"]: row["pieces"][0][1] for row in rows} for rows in panel(x).timeline["rows"]
    ]
    assert shown[3] == {
        "before": "scale 2^{16} = 65536, tracker 3 of 5",
        "found_inf": "0: every gradient is finite",
        "decision": "step taken: gradients are divided by 2^{16}, then the optimizer steps",
        "scale": "2^{16} = 65536: unchanged",
        "tracker": "4 of 5 good steps",
    }
    assert shown[4]["scale"] == "2^{17} = 131072: grown, 2^{16} × 2.0"
    assert shown[4]["tracker"].startswith("0: 5 good steps in a row")
    assert shown[6]["found_inf"].startswith("1: some gradient is inf or NaN")
    assert shown[6]["decision"].startswith("step skipped")
    assert shown[6]["scale"] == "2^{16} = 65536: backed off, 2^{17} × 0.5"
    assert shown[6]["tracker"] == "0: an inf starts the count again"


def test_a_scale_that_cannot_grow_says_so() -> None:
    x = scaler_scrubber(2.0**127, growth_interval=1, steps=2)
    assert [step.event for step in x.history] == ["capped", "capped"]
    assert scales(x) == [2.0**127] * 2
    assert "float32 has no such number" in panel(x).timeline["rows"][0][3]["pieces"][0][1]
    assert "cannot grow" in panel(x).timeline["sentences"][0]


def test_a_scale_that_backs_off_to_zero_is_drawn_without_a_height() -> None:
    x = scaler_scrubber(2.0**-148, backoff_factor="2^-10", steps=3, infs=(1, 2))
    heights = panel(x).timeline["heights"]
    assert heights == [-148, None, None]
    assert panel(x).timeline["low"] < -148
    assert repr(x)


def test_the_axis_holds_every_scale_and_a_few_labels() -> None:
    x = scaler_scrubber(growth_interval=1, steps=60, infs=range(30, 60))
    line = panel(x).timeline
    assert line["low"] < min(line["heights"])
    assert line["high"] > max(line["heights"])
    assert 3 <= len(line["ticks"]) <= 8
    assert all(line["low"] <= at <= line["high"] for at, _ in line["ticks"])
    assert len(ticks(-300, 300)) <= 13


def test_an_inf_leaves_the_axis_where_it_is() -> None:
    x = scaler_scrubber()
    before = panel(x).timeline["low"], panel(x).timeline["high"]
    for step in (2, 12, 39):
        x.infs = (step,)
        assert (panel(x).timeline["low"], panel(x).timeline["high"]) == before


@pytest.mark.parametrize(
    ("scale", "text"),
    [(1.0, "2^{0}"), (0.5, "2^{-1}"), (0.3333333432674408, "≈ 0.333333"), (3.0, "3"), (0.0, "0")],
)
def test_scales_are_written_as_powers_where_they_are_powers(scale: float, text: str) -> None:
    assert scale_text(scale) == text


def test_the_text_fallback_is_whole_and_the_same_each_time() -> None:
    x = scaler_scrubber(steps=12, infs=(7,))
    first, second = (w._repr_mimebundle_()["text/plain"] for w in (x, x))
    assert first == second == repr(x)
    lines = [line.split() for line in first.splitlines()[1:]]
    assert [line[0] for line in lines] == ["1-4", "5", "6", "7", "8-11", "12"]
    assert "skipped, scale backs off" in first
    assert "2^17 to 2^16" in first


def test_every_label_the_browser_asks_for_is_there() -> None:
    asked = set(re.findall(r"\blabels\.(\w+)", ScalerPanel._esm))
    # The number field with its button belongs to other widgets.
    assert asked - set(words.SCALER_LABELS) <= {"number", "encode"}
    assert {"init_scale", "growth_factor", "backoff_factor"} <= set(words.SCALER_LABELS)


def test_the_package_loads_no_widget_library_and_the_rule_no_torch() -> None:
    code = (
        "import sys, ampcourse.widgets as w; w.scaler_scrubber\n"
        "from ampcourse.widgets.scaler.picture import text\n"
        "from ampcourse.widgets.scaler.trace import ScalerTrace\n"
        "text(ScalerTrace.of(1, 2, 0.5, 5, 9, ()))\n"
        "print([m for m in ('ipywidgets', 'anywidget', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_docstring_examples_hold() -> None:
    result = doctest.testmod(scaler_picture)
    assert result.attempted
    assert result.failed == 0
