"""The figure of score differences shows seeds, intervals and the margin in percentage points."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("scipy", reason="needs scipy")

from ampcourse.benchmark.equivalence import Equivalence
from ampcourse.plotting.score_differences import WORDS, score_differences
from ampcourse.plotting.style import lettering

CLOSE = Equivalence("fp32", "amp-fp16", {0: (0.80, 0.801), 1: (0.79, 0.789), 2: (0.81, 0.81)})
WIDE = Equivalence("fp32", "amp-bf16", {0: (0.80, 0.84), 1: (0.79, 0.75), 2: (0.81, 0.82)})
FOUND = {"FP16": CLOSE, "BF16": WIDE}


def test_seeds_and_intervals_are_drawn_in_points_row_by_row() -> None:
    ax: Any = score_differences(FOUND)
    rows = ax.lines[1:]  # the first is the line at 0
    for place, one in enumerate(FOUND.values()):
        seeds, interval = rows[2 * place], rows[2 * place + 1]
        assert list(seeds.get_xdata()) == pytest.approx([100 * d for d in one.differences])
        assert list(interval.get_xdata()) == pytest.approx([100 * bound for bound in one.interval])
        assert set(seeds.get_ydata()) == set(interval.get_ydata()) == {place}
    assert [label.get_text() for label in ax.get_yticklabels()] == list(FOUND)


def test_an_interval_that_leaves_the_margin_differs_in_colour_and_shape() -> None:
    ax: Any = score_differences(FOUND)
    by_label = {line.get_label(): line for line in ax.lines}
    inside, outside = by_label[WORDS["holds"]], by_label[WORDS["open"]]
    assert inside.get_marker() != outside.get_marker()
    assert inside.get_color() != outside.get_color()
    assert (inside.get_ydata()[0], outside.get_ydata()[0]) == (0, 1)


def test_the_margin_is_a_band_around_0() -> None:
    ax: Any = score_differences(FOUND)
    band = ax.patches[0]
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((-2.0, 2.0))


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_the_legend_lies_below_the_axis_label_in_the_letters_of_a_slide_too(factor: float) -> None:
    with lettering(factor):
        ax: Any = score_differences(FOUND)
    ax.figure.draw_without_rendering()
    legend = ax.get_legend() or ax.figure.legends[0]
    assert legend.get_window_extent().y1 <= ax.xaxis.label.get_window_extent().y0


@pytest.mark.parametrize(
    "found",
    [{}, {"a": CLOSE, "b": Equivalence("fp32", "x", dict(CLOSE.accuracies), margin=0.01)}],
)
def test_comparisons_of_no_or_several_margins_are_refused(found: dict[str, Equivalence]) -> None:
    with pytest.raises(ValueError, match="give comparisons of one margin"):
        score_differences(found)
