"""The figure of speed-ups shows each result where and as what it is."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from matplotlib.figure import Figure

from ampcourse.benchmark import Measurement, Result, records
from ampcourse.plotting.speedups import speedups
from ampcourse.plotting.style import lettering


def result(hardware: str, factor: float, kind: Any = "measured") -> Any:
    runs = Measurement("fp32", factor), Measurement("bf16", 1.0)
    return Result("a task", hardware, kind, "s", *runs, date="today", source="a test")


def points(ax: Any, label: str) -> Any:
    return [tuple(line.get_xydata()[0]) for line in ax.lines if line.get_label() == label]


def test_each_result_is_a_point_at_its_speed_up_first_result_on_top() -> None:
    ax = speedups([result("fast", 4.0), result("slow", 0.5)])
    assert points(ax, "measured") == [(4.0, 1.0), (0.5, 0.0)]
    assert [t.get_text() for t in ax.texts] == ["4.00×", "0.50×"]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0].startswith("fast · BF16 over FP32")


def test_question_mark_marks_an_inferred_baseline_and_a_line_explains_it() -> None:
    known, inferred = result("a", 2.0), replace(result("b", 2.0), baseline_inferred=True)
    names = [label.get_text() for label in speedups([known, inferred]).get_yticklabels()]
    assert [name.splitlines()[0] for name in names] == [
        "a · BF16 over FP32",
        "b · BF16 over FP32?",
    ]
    assert "?: not reported, our inference" in speedups([known, inferred]).get_xlabel()
    assert "?" not in speedups([known]).get_xlabel()


def test_doubt_stands_beside_the_result() -> None:
    ax = speedups([replace(result("a", 2.0), doubt="too few steps")])
    assert ax.get_yticklabels()[0].get_text().endswith("\ntoo few steps")


def test_guess_is_a_cross_in_the_row_of_its_hardware_only() -> None:
    ax = speedups([result("fast", 4.0), result("slow", 0.5)], {"slow": 2.0, "absent": 3.0})
    assert points(ax, "your guess") == [(2.0, 0.0)]


def test_no_guess_draws_no_cross() -> None:
    assert points(speedups([result("fast", 4.0)], {"fast": None}), "your guess") == []


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), "2"])
def test_guess_that_is_no_factor_is_refused_by_its_hardware(factor: float) -> None:
    with pytest.raises(ValueError, match="the guess for fast is"):
        speedups([result("fast", 4.0)], {"fast": factor})


def test_kinds_differ_in_marker_not_in_colour_alone() -> None:
    ax = speedups([result("a", 2.0, kind) for kind in ("published", "quoted", "measured")])
    markers = {line.get_marker() for line in ax.lines if line.get_marker() != "None"}
    assert len(markers) == 3


def test_every_point_and_guess_lies_inside_the_axes() -> None:
    ax = speedups([result("a", 0.05), result("b", 9.0)], {"a": 64.0})
    low, high = ax.get_xlim()
    assert low < 0.05
    assert high > 64.0


def test_nothing_is_cut_off_at_the_edge_of_the_figure() -> None:
    figure: Any = speedups(records()).figure
    figure.canvas.draw()
    for item in (figure.axes[0].xaxis.label, *figure.axes[0].texts):
        box = item.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_drawing_raises_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        speedups([result("a", 2.0)]).figure.canvas.draw()


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_names_of_rows_lie_apart_in_the_letters_of_a_slide_too(factor: float) -> None:
    with lettering(factor):
        ax = speedups(records())
    assert isinstance(ax.figure, Figure)
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 for upper, lower in pairwise(boxes))
    ticks = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    inside = [box for box in ticks if ax.bbox.x0 <= (box.x0 + box.x1) / 2 <= ax.bbox.x1]
    assert all(left.x1 <= right.x0 for left, right in pairwise(inside))
