"""The block FMA's Python side: gestures in, traits and text out, no browser."""

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("anywidget")

from ampcourse.widgets import block_fma
from ampcourse.widgets.block import words
from ampcourse.widgets.block.state import LAST_PLACE
from ampcourse.widgets.block.widget import BlockFMA, BlockPanel


def panel(widget: BlockFMA) -> Any:
    return widget.children[-1]


def gesture(widget: BlockFMA, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    panel(widget)._handle_custom_msg(content, [])


def typed(widget: BlockFMA) -> list[tuple[int, str, str]]:
    return [(term.place, term.a, term.b) for term in widget.state.terms]


def test_the_start_is_the_sum_that_tells_gpus_apart() -> None:
    assert [block_fma(gpu=gpu).result for gpu in ("V100", "A100", "H100")] == [
        0.0,
        2.0**-13,
        3 * 2.0**-14,
    ]
    x = block_fma(gpu="V100")
    assert (x.gpu, x.correctly_rounded, x.stage, x.block) == ("V100", 3 * 2.0**-14, "products", 0)


def test_zero_products_get_no_field() -> None:
    x = block_fma((1, 0, 2), (1, 1, 0), 0)
    assert typed(x) == [(0, "1", "1")]
    assert typed(block_fma((0,), (0,), 1)) == [(0, "0", "0")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"gesture": "number", "field": "a0", "text": "1"}, -2047 + 2.0**-12),
        ({"gesture": "number", "field": "b4", "text": "-1"}, 4096.0),
        ({"gesture": "number", "field": "c", "text": "7"}, 7.0),
        ({"gesture": "remove", "place": 4}, 2048.0),
        ({"gesture": "add"}, 1 + 3 * 2.0**-14),
        ({"gesture": "gpu", "to": "A100"}, 2.0**-13),
        ({"gesture": "output", "to": "fp16"}, 3 * 2.0**-14),
        ({"gesture": "preset", "to": "crumbs"}, 1.0),
    ],
)
def test_a_gesture_changes_the_result(content: dict[str, Any], expected: float) -> None:
    x = block_fma()
    gesture(x, **content)
    assert x.result == expected  # rounded toward zero, to fp32
    assert panel(x).answered == 1
    assert panel(x).problem == {}


def test_moving_a_term_moves_it_to_another_block() -> None:
    x = block_fma(gpu="V100")
    assert len(panel(x).blocks) == 2
    gesture(x, gesture="place", field="k4", text="1")
    assert typed(x) == [(0, "2^11", "1"), (1, "-2^11", "1")]
    assert len(panel(x).blocks) == 1
    # C is cut against 2^11 all the same.
    assert x.result == 0.0
    gesture(x, gesture="place", field="k0", text="31")
    assert len(panel(x).blocks) == 8


@pytest.mark.parametrize(
    ("content", "field", "message"),
    [
        ({"gesture": "number", "field": "a4", "text": "1.5x"}, "a4", "end before 'x'"),
        ({"gesture": "number", "field": "c", "text": ""}, "c", "a number is expected"),
        ({"gesture": "place", "field": "k4", "text": "0"}, "k4", "Term 0 is there already"),
        ({"gesture": "place", "field": "k4", "text": "32"}, "k4", "from 0 to 31"),
        ({"gesture": "place", "field": "k4", "text": "-1"}, "k4", "'-1' is no place"),
    ],
)
def test_a_refusal_names_its_field_and_changes_nothing(
    content: dict[str, Any], field: str, message: str
) -> None:
    x = block_fma()
    before = x.state
    gesture(x, **content)
    assert x.state == before
    assert panel(x).problem["field"] == field
    assert message in panel(x).problem["message"]
    assert panel(x).answered == 1
    gesture(x, gesture="add")
    assert panel(x).problem == {}


def test_a_term_is_added_at_the_first_free_place_until_all_are_taken() -> None:
    x = block_fma()
    gesture(x, gesture="add")
    assert [term.place for term in x.state.terms] == [0, 1, 4]
    for _ in range(LAST_PLACE - 2):
        gesture(x, gesture="add")
    assert len(x.state.terms) == LAST_PLACE + 1
    gesture(x, gesture="add")
    assert "all taken" in panel(x).problem["message"]


@pytest.mark.parametrize(("text", "number"), [("0.1", 0.1), ("1/3", 1 / 3), ("65519", 65519)])
def test_a_number_is_rounded_to_the_input_format_and_a_note_says_so(
    text: str, number: float
) -> None:
    x = block_fma((text,), (1,), 0)
    rounded = float(np.float16(number))
    assert x.state.entry("a0").value == rounded
    (note,) = panel(x).numbers["terms"][0]["notes"]
    assert note == f"{text} is not a number of fp16: {rounded:.15g} is used."


def test_c_has_the_output_format() -> None:
    x = block_fma((0,), (0,), "1 + 2^-23")
    assert x.result == 1 + 2**-23
    assert not panel(x).numbers["c"]["notes"]
    gesture(x, gesture="output", to="fp16")
    assert x.result == 1
    assert "is not a number of fp16" in panel(x).numbers["c"]["notes"][0]


def test_exact_and_special_numbers_have_no_note() -> None:
    x = block_fma(("nan", "-inf", "-0", "2^-24"), (1, 1, 1, 1), 0)
    assert [term["notes"] for term in panel(x).numbers["terms"]] == [[]] * len(x.state.terms)


def test_selectors_offer_what_the_gpu_has() -> None:
    x = block_fma(gpu="A100")
    legal = {name: ok for name, _, ok in panel(x).setup["input"]}
    assert legal == {"fp16": True, "bf16": True, "tf32": True, "e4m3": False, "e5m2": False}
    gesture(x, gesture="input", to="bf16")
    assert {name: ok for name, _, ok in panel(x).setup["output"]} == {"fp32": True, "fp16": False}
    chosen = [name for name, on, _ in panel(x).setup["gpu"] if on]
    assert chosen == ["A100"]
    assert "recorded rows" in panel(x).setup["evidence"]


def test_a_gpu_without_the_format_takes_one_it_has_and_says_so() -> None:
    x = block_fma(input_format="e4m3")
    gesture(x, gesture="gpu", to="V100")
    assert (x.state.input_format, x.state.output_format) == ("fp16", "fp32")
    assert "V100 has no e4m3" in panel(x).setup["note"]
    gesture(x, gesture="number", field="a0", text="1")
    assert panel(x).setup["note"] == ""


def test_an_input_without_fp16_results_takes_fp32() -> None:
    x = block_fma(output_format="fp16")
    gesture(x, gesture="input", to="bf16")
    assert (x.state.input_format, x.state.output_format) == ("bf16", "fp32")
    assert "bf16 with fp16 results" in panel(x).setup["note"]


def test_the_stage_stays_when_the_chain_gets_shorter() -> None:
    x = block_fma(gpu="V100")
    panel(x).step = 6 + 3
    assert (x.block, x.stage) == (1, "cut")
    x.gpu = "H100"
    assert (x.block, x.stage) == (0, "cut")
    x.stage = "rounding"
    assert panel(x).step == 5
    with pytest.raises(ValueError, match="no stage 'end'"):
        x.stage = "end"


def test_nonsense_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="position 3"):
        block_fma(("1.5x",), (1,), 0)
    with pytest.raises(ValueError, match="position 0"):
        block_fma((1,), (1,), "x")
    with pytest.raises(ValueError, match="a has 1 numbers and b 2"):
        block_fma((1,), (1, 2), 0)
    with pytest.raises(ValueError, match="33 numbers"):
        block_fma((1,) * 33, (1,) * 33, 0)
    with pytest.raises(ValueError, match="V100 has no Tensor Core for bf16"):
        block_fma(gpu="V100", input_format="bf16")
    with pytest.raises(ValueError, match="unknown GPU"):
        block_fma().gpu = "RTX"


def test_names_are_taken_in_any_case() -> None:
    assert block_fma(gpu="h100").gpu == "H100"
    x = block_fma()
    x.gpu = "a100"
    assert x.gpu == "A100"
    assert [name for name, on, _ in panel(x).setup["gpu"] if on] == ["A100"]


def test_the_text_fallback_is_whole_and_the_same_each_time() -> None:
    x = block_fma(gpu="A100")
    first, second = (w._repr_mimebundle_()["text/plain"] for w in (x, block_fma(gpu="A100")))
    assert first == second == repr(x)
    lines = first.splitlines()
    c = next(line for line in lines if line.startswith("C "))
    assert c.endswith("1|1")
    assert all(c.index("|") == line.index("|") for line in lines if "|" in line)
    assert lines[-1].endswith("the result is 2^22 ulp less.")


def test_every_label_the_browser_asks_for_is_there() -> None:
    source = BlockPanel._esm
    asked = set(re.findall(r"\blabels\.(\w+)", source))
    # "readouts" and "full" belong to a control that this widget does not use.
    assert asked - set(words.BLOCK_LABELS) <= {"readouts", "full", "number", "encode"}
    for name in ("gpu", "input", "output", "previous", "next", "term", "product", "exponent"):
        assert words.BLOCK_LABELS[name]


def test_importing_the_package_loads_no_widget_library() -> None:
    code = (
        "import sys, ampcourse.widgets as w; w.block_fma; "
        "print([m for m in ('ipywidgets', 'anywidget', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_numbers_need_no_numpy() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None; sys.modules['anywidget'] = None\n"
        "from ampcourse.widgets.block.chain import chain\n"
        "from ampcourse.widgets.block.picture import BlockPicture\n"
        "from ampcourse.widgets.block.state import BlockState\n"
        "s = BlockState.of((1,), (1,), 0, 'H100', 'fp16', 'fp32')\n"
        "print(BlockPicture(chain(s), 0).as_data()['columns'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "26"
