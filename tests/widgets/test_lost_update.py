"""The lost-update widget's Python side: gestures in, traits and text out, no browser."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("anywidget")

from ampcourse.widgets import lost_update
from ampcourse.widgets.update.widget import LostUpdate, UpdatePanel


def gesture(widget: LostUpdate, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    panel(widget)._handle_custom_msg(content, [])


def panel(widget: LostUpdate) -> Any:
    return widget.children[0]


def test_the_state_reads_back_and_can_be_assigned() -> None:
    x = lost_update("fp16", 1, 0.001)
    assert (x.format.name, x.w, x.delta, x.mode) == ("fp16", 1.0, "0.001", "nearest_even")
    assert (x.result, x.lost) == (1.0009765625, False)
    x.delta, x.mode = "-0.0001", "down"
    assert (x.result, x.lost) == (1 - 2**-11, False)
    x.w, x.format = 0.1, "bf16"
    assert x.w == 0.10009765625
    assert panel(x).readout["note"].startswith("0.1 is not a number of bf16")


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ({"gesture": "delta", "to": "1e-4"}, ("fp16", 1.0, "1e-4", "nearest_even")),
        ({"gesture": "w", "to": "0x1p-3"}, ("fp16", 0.125, "0.001", "nearest_even")),
        ({"gesture": "sign", "to": "-"}, ("fp16", 1.0, "-0.001", "nearest_even")),
        ({"gesture": "sign", "to": "+"}, ("fp16", 1.0, "0.001", "nearest_even")),
        ({"gesture": "format", "to": "e4m3"}, ("e4m3", 1.0, "0.001", "nearest_even")),
        ({"gesture": "mode", "to": "toward_zero"}, ("fp16", 1.0, "0.001", "toward_zero")),
        ({"gesture": "slide", "to": "8"}, ("fp16", 1.0, "1.52587890625e-05", "nearest_even")),
        ({"gesture": "slide", "to": "999"}, ("fp16", 1.0, "1.0", "nearest_even")),
    ],
)
def test_a_gesture_changes_the_state(content: dict[str, Any], read: tuple[Any, ...]) -> None:
    x = lost_update()
    gesture(x, **content)
    assert (x.format.name, x.w, x.delta, x.mode) == read
    assert panel(x).readout["delta"] == read[2]
    assert panel(x).answered == 1


def test_the_sign_survives_the_slider_and_changes_back() -> None:
    x = lost_update()
    gesture(x, gesture="sign", to="-")
    gesture(x, gesture="slide", to="40")
    assert x.delta.startswith("-")
    gesture(x, gesture="sign", to="+")
    assert not x.delta.startswith("-")


def test_stochastic_draws_are_counted_and_start_anew_with_a_new_question() -> None:
    x = lost_update(delta="0.0003", mode="stochastic")
    assert sum(x.state.draws) == 1
    gesture(x, gesture="draw", times=100)
    assert sum(x.state.draws) == 101
    assert panel(x).readout["chance"]["tally"].startswith("101 draws, mean ")
    gesture(x, gesture="slide", to="50")
    assert sum(x.state.draws) == 1
    gesture(x, gesture="mode", to="up")
    assert panel(x).readout["chance"] is None


def test_stochastic_tells_probability_and_expectation() -> None:
    chance = panel(lost_update(delta="0.0003", mode="stochastic")).readout["chance"]
    assert (
        chance["told"] == "rounds up to 1.0009765625 with probability p = 30.72 %, else down to 1"
    )
    assert chance["expected"] == (
        "expectation: (1 − p) × 1 + p × 1.0009765625 = 1.0003, which is w + Δ, exactly"
    )
    assert panel(lost_update(delta="0.5", mode="stochastic")).readout["chance"]["certain"]


@pytest.mark.parametrize(
    ("field", "text", "at"), [("delta", "1,5", ","), ("w", "x", "x"), ("w", "inf", "")]
)
def test_a_refused_number_is_shown_at_its_field_and_keeps_the_state(
    field: str, text: str, at: str
) -> None:
    x = lost_update()
    state = x.state
    gesture(x, gesture=field, to=text)
    assert x.state == state
    assert (panel(x).problem["field"], panel(x).problem["at"]) == (field, at)
    assert panel(x).answered == 1
    gesture(x, gesture="sign", to="-")
    assert panel(x).problem == {}


def test_assigning_nonsense_raises_and_changes_nothing() -> None:
    x = lost_update()
    wrong = {"format": "e8m0", "w": "nan", "delta": "1..5", "mode": "even"}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=r"no sign|not a finite|position|the modes here"):
            setattr(x, name, value)
    assert x.state == lost_update().state


def test_a_format_of_ones_own_joins_the_choices() -> None:
    assert [value for value, _ in panel(lost_update("e5m2")).choices["formats"]] == [
        "fp16", "bf16", "e4m3", "fp32", "e5m2",
    ]  # fmt: skip


def test_the_text_fallback_is_whole_and_the_same_each_time() -> None:
    for mode in ("nearest_even", "stochastic"):
        first, second = (
            lost_update(delta="0.0001", mode=mode)._repr_mimebundle_()["text/plain"]
            for _ in range(2)
        )
        assert first == second == repr(lost_update(delta="0.0001", mode=mode))
        assert first.splitlines()[-1].endswith("so the update is lost" + (
            " this time." if mode == "stochastic" else "."))  # fmt: skip
        assert "|w / Δ|" in first
        assert "{" not in first


def test_every_label_the_browser_asks_for_is_there() -> None:
    source = str(UpdatePanel._esm)
    asked = set(re.findall(r"\blabels\.(\w+)", source)) - {"number", "encode"}
    assert asked - set(UpdatePanel().labels) == set()
    assert asked


def test_importing_the_package_loads_no_widget_library() -> None:
    code = (
        "import sys, ampcourse.widgets as w; w.lost_update; import ampcourse.widgets.update.state; "
        "print([m for m in ('ipywidgets', 'anywidget', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_docstrings_example_holds() -> None:
    examples = doctest.DocTestFinder().find(lost_update, globs={"lost_update": lost_update})
    results = [doctest.DocTestRunner().run(example) for example in examples]
    assert [result.failed for result in results] == [0]
    assert results[0].attempted > 0
