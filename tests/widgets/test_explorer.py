"""The widgets' Python side: gestures in, traits and text out, no browser."""

import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("anywidget")

from ampcourse.formats import FP16, ieee_like
from ampcourse.widgets import explorer, same_number
from ampcourse.widgets.bits.explorer import BitPanel, Explorer
from ampcourse.widgets.bits.side_by_side import ComparisonPanel, SameNumber
from ampcourse.widgets.front_end import refusal


def gesture(widget: Explorer | SameNumber, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    panel = widget.children[-1]
    panel._handle_custom_msg(content, [])


def panel(widget: Explorer | SameNumber) -> Any:
    return widget.children[-1]


def test_the_state_reads_back_as_format_code_value_and_typed_text() -> None:
    x = explorer()
    assert (x.format, x.code, x.value, x.typed) == (FP16, 0x2E66, 0.0999755859375, "0.1")


def test_a_start_from_bits_keeps_the_number_as_reference() -> None:
    x = explorer("bf16", "1", code=0x0001)
    assert x.code == 1
    assert x.typed == "1"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"gesture": "flip", "bit": 15}, 0xAE66),
        ({"gesture": "set", "bit": 0, "one": True}, 0x2E67),
        ({"gesture": "set", "bit": 0, "one": False}, 0x2E66),
        ({"gesture": "exponentField", "to": "15"}, 0x3E66),
        ({"gesture": "significandField", "to": "0"}, 0x2C00),
        ({"gesture": "number", "text": "0x1.8p-3"}, 0x3200),
        ({"gesture": "negate"}, 0xAE66),
        ({"gesture": "above"}, 0x2E67),
        ({"gesture": "below"}, 0x2E65),
    ],
)
def test_a_gesture_changes_the_code(content: dict[str, Any], code: int) -> None:
    x = explorer()
    gesture(x, **content)
    assert x.code == code
    assert panel(x).readout["bits"] == f"{code:016b}"
    assert panel(x).answered == 1


def test_width_sliders_reshape_and_the_selector_follows() -> None:
    x = explorer()
    selector = x.children[0]
    gesture(x, gesture="significandWidth", to="7")
    assert x.format == ieee_like(5, 7)
    assert selector.value == "custom"
    gesture(x, gesture="exponentWidth", to="11")
    assert (panel(x).shape["exponentBits"], panel(x).shape["significandBits"]) == (11, 7)
    selector.value = "e4m3"
    assert x.format.name == "e4m3"


def test_assigning_a_format_moves_the_selector() -> None:
    x = explorer()
    x.format = "bf16"
    assert x.children[0].value == "bf16"
    x.format = ieee_like(3, 3)
    assert x.children[0].value == "custom"


@pytest.mark.parametrize(
    ("text", "before", "at", "message"),
    [
        ("1.5x3", "1.5", "x", "end before"),
        ("1e", "1e", " ", "digit"),
        ("", "", " ", "expected here"),
        ("1" * 60 + "z", "…" + "1" * 24, "z", "end before"),
    ],
)
def test_malformed_text_shows_where_and_keeps_the_state(
    text: str, before: str, at: str, message: str
) -> None:
    x = explorer()
    state = x.state
    gesture(x, gesture="number", text=text)
    assert x.state == state
    problem = panel(x).problem
    assert (problem["before"], problem["at"]) == (before, at)
    assert message in problem["message"]
    assert panel(x).answered == 1
    gesture(x, gesture="flip", bit=0)
    assert panel(x).problem == {}


def test_a_nan_for_a_format_without_one_is_refused_in_words() -> None:
    x = explorer("e2m1", "1")
    gesture(x, gesture="number", text="nan")
    assert x.code == 0b0010
    assert "NaN" in panel(x).problem["message"]


def test_assigning_nonsense_raises_and_changes_nothing() -> None:
    x = explorer()
    for name, wrong in (("format", "fp17"), ("code", 1 << 16), ("typed", "1..5")):
        with pytest.raises(ValueError, match=r"fp17|0x10000|position"):
            setattr(x, name, wrong)
    assert x.code == 0x2E66


def test_a_callback_sees_format_and_code_change_together() -> None:
    x = explorer()
    seen: list[tuple[str, int]] = []
    x.observe(lambda change: seen.append((x.format.name, x.code)), "state")
    x.format = "e4m3"
    assert seen == [("e4m3", 0x1D)]


def test_the_text_fallback_is_whole_and_the_same_each_time() -> None:
    first, second = (explorer()._repr_mimebundle_()["text/plain"] for _ in range(2))
    assert first == second == repr(explorer())
    assert "0.0999755859375" in first
    assert "0 01011 1001100110" in first
    assert first.endswith("0.4 ulp below 0.1.")


def test_same_number_reads_and_refuses() -> None:
    y = same_number()
    assert y.rows["fp16"].code == 0x2E66
    gesture(y, gesture="number", text="65520")
    assert y.typed == "65520"
    assert y.rows["fp16"].code == 0x7C00
    gesture(y, gesture="number", text="6_5__520")
    assert y.typed == "65520"
    assert panel(y).problem["at"] == "_"
    assert repr(y) == repr(same_number("65520"))
    assert "overflows to infinity" in repr(y)


def test_a_refusal_without_a_place_shows_the_message_only() -> None:
    assert refusal("nan", ValueError("no NaN here")) == {
        "message": "no NaN here",
        "before": "",
        "at": "",
        "after": "",
    }


@pytest.mark.parametrize("panel_class", [BitPanel, ComparisonPanel])
def test_every_label_the_browser_asks_for_is_there(panel_class: type) -> None:
    import re

    source = panel_class._esm  # type: ignore[attr-defined]
    asked = set(re.findall(r"\blabels\.(\w+)", source))
    given = set(panel_class().labels)
    assert asked - given <= {"formats"}
    assert asked


def test_importing_the_package_loads_no_widget_library() -> None:
    code = (
        "import sys, ampcourse.widgets as w; w.explorer; w.same_number; "
        "print([m for m in ('ipywidgets', 'anywidget', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_the_widget_library_the_message_tells_what_to_install() -> None:
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "from ampcourse.widgets import explorer\n"
        "try: explorer()\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "anywidget" in done.stdout
    assert "pip install 'ampcourse[lab]'" in done.stdout
