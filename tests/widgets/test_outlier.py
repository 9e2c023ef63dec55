"""The outlier widget: fates counted by hand and by ml_dtypes, every choice checked, no browser."""

from __future__ import annotations

import doctest
import re
from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="needs the lab extra")

from ampcourse.blocks import SCHEMES
from ampcourse.widgets import outlier
from ampcourse.widgets.scaling.fates import fate
from ampcourse.widgets.scaling.state import ELEMENTS, LEAST, MOST, VALUES, normal_values
from ampcourse.widgets.scaling.widget import Outlier

MX = {"e2m1": ("float4_e2m1fn", 2), "e4m3": ("float8_e4m3fn", 8)}


def gesture(widget: Outlier, **content: Any) -> None:
    """Deliver a message as the browser's would arrive."""
    widget._panel._handle_custom_msg(content, [])


def lost(widget: Outlier) -> list[int]:
    """Return how many values become 0 under one scale, 32-blocks, 16-blocks."""
    return [len(found.flushed) for found in widget.fates]


@pytest.mark.parametrize("exponent", [LEAST, 1, 7, 12, MOST])
@pytest.mark.parametrize("element", ELEMENTS)
def test_mx_blocks_are_those_of_ml_dtypes_with_a_scale_from_frexp(
    element: str, exponent: int
) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    name, emax = MX[element]
    dtype = getattr(ml_dtypes, name)
    largest = float(ml_dtypes.finfo(dtype).max)
    widget = outlier(exponent, 40, element)
    x = np.array(widget.values).reshape(-1, 32)
    _, exponents = np.frexp(np.abs(x).max(1, keepdims=True))
    scale = 2.0 ** (exponents - 1 - emax)
    stored = np.clip(x / scale, -largest, largest).astype(dtype).astype(float) * scale
    found = widget.fates[1]
    assert found.stored == tuple(stored.ravel())
    assert found.flushed == tuple(np.flatnonzero(stored.ravel() == 0))
    others = np.arange(VALUES) != 40
    gone, kept = stored.ravel()[others], x.ravel()[others]
    relative = float(np.linalg.norm(gone - kept) / np.linalg.norm(kept))
    assert found.error == pytest.approx(relative, rel=2**-48)


def test_an_outlier_takes_all_values_that_share_its_scale_and_no_others() -> None:
    widget = outlier(12, 20)
    tensor, by_32, by_16 = widget.fates
    assert len(tensor.flushed) == VALUES - 1
    assert set(range(32)) - {20} <= set(by_32.flushed)
    assert set(range(16, 32)) - {20} <= set(by_16.flushed)
    errors = [block.error for block in by_16.blocks]
    assert [errors[1]] == [error for error in errors if error == 1.0]


def test_a_smaller_block_is_not_always_better() -> None:
    # NVFP4's scales share one FP32 scale: an outlier of 2^20 leaves the other blocks a scale of 0.
    _, by_32, by_16 = outlier(20, 20).fates
    assert len(by_16.flushed) > len(by_32.flushed)
    assert by_16.error > by_32.error
    assert [block.scale for block in by_16.blocks].count(0.0) == 2
    # And without an outlier a power of two fits worse than one FP32 scale.
    tensor, by_32, _ = outlier(1, 20).fates
    assert tensor.error < by_32.error


@pytest.mark.parametrize("scheme", ["mxfp4", "nvfp4", "per_tensor_e2m1", "mxfp8_e4m3"])
def test_the_line_parts_what_becomes_0_from_what_does_not(scheme: str) -> None:
    values = normal_values()
    for block in fate(values, SCHEMES[scheme], 0).blocks:
        below = {i for i in range(block.start, block.end) if abs(values[i]) <= block.threshold}
        assert below == set(block.flushed)
        assert block.scale > 0


def test_7_over_a_scale_of_1_is_clamped_and_what_rounds_to_6_is_not() -> None:
    values = [7.0, 6.9, -7.5, 4.0, *28 * [1.0]]
    found = fate(values, SCHEMES["mxfp4"], 3)
    assert (found.blocks[0].scale, found.clamped) == (1.0, (0, 2))
    assert found.stored[:3] == (6.0, 6.0, -6.0)


def test_the_values_beside_the_outlier_are_spread_as_a_normal_distribution_is() -> None:
    values = np.array(normal_values())
    assert values.mean() == pytest.approx(0, abs=1e-12)
    assert values.std() == pytest.approx(1, abs=0.02)
    assert normal_values(seed=1) != normal_values(seed=2)


def test_bits_per_value_are_those_of_the_standards() -> None:
    told = [row[-1] for row in outlier()._panel.view["rows"]]
    assert told == ["4", "4.25", "4.5"]
    assert [row[-1] for row in outlier(element="e4m3")._panel.view["rows"]] == ["8", "8.25", "8.5"]


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ({"gesture": "element", "to": "e4m3"}, ("e4m3", 20, 1)),
        ({"gesture": "place", "to": 63}, ("e2m1", 63, 1)),
        ({"gesture": "exponent", "to": 12}, ("e2m1", 20, 12)),
        ({"gesture": "drag", "to": [33, 7]}, ("e2m1", 33, 7)),
        ({"gesture": "drag", "to": [99, -9]}, ("e2m1", VALUES - 1, LEAST)),
        ({"gesture": "drag", "to": [-1, 99]}, ("e2m1", 0, MOST)),
    ],
)
def test_each_gesture_changes_what_it_names(content: Any, read: tuple[str, int, int]) -> None:
    widget = outlier()
    gesture(widget, **content)
    assert (widget.element, widget.place, widget.exponent) == read
    assert widget._panel.answered == 1


def test_element_place_and_exponent_can_be_assigned() -> None:
    widget = outlier()
    widget.element, widget.place, widget.exponent = "e4m3", 5, 9
    assert widget.values[5] == 2.0**9
    assert widget._panel.view["sentence"].startswith("Outlier 2^{9} at place 6, elements E4M3")


def test_bars_and_text_tell_the_same_fates() -> None:
    widget = outlier(6, 20)
    drawn = [Counter(bar[1] for bar in chart["bars"]) for chart in widget._panel.view["charts"]]
    assert [count["flushed"] for count in drawn] == lost(widget)
    marks = [line for line in str(widget).splitlines() if set(line.strip()) <= set(".0^O|")]
    assert [line.count("0") for line in marks] == lost(widget)
    assert [line.count("|") for line in marks] == [0, 1, 3]


def test_the_one_outlier_is_marked_in_each_chart_and_stands_highest() -> None:
    for chart in outlier(12, 44)._panel.view["charts"]:
        assert [i for i, bar in enumerate(chart["bars"]) if bar[2]] == [44]
        assert max(bar[0] for bar in chart["bars"]) == chart["bars"][44][0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((21,), "exponent=21 must be a whole number from 0 to 20"),
        ((1.5,), "exponent=1.5 must be a whole number from 0 to 20"),
        ((1, 64), "place=64 must be a whole number from 0 to 63"),
        ((1, 0, "e5m2"), "element 'e5m2' is unknown; choose from e2m1, e4m3"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_legal(
    arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        outlier(*arguments)


@pytest.mark.parametrize("name", ["fates", "state", "words"])
def test_docstring_examples_hold(name: str) -> None:
    result = doctest.testmod(import_module(f"ampcourse.widgets.scaling.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_functions_example_holds() -> None:
    [example] = doctest.DocTestFinder().find(outlier, globs={"outlier": outlier})
    result = doctest.DocTestRunner().run(example)
    assert (result.failed, result.attempted) == (0, 1)
