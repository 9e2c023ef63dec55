"""The figure of the loss scale shows each step, and a mark where one was skipped."""

from __future__ import annotations

from typing import Any

import pytest

from ampcourse.plotting.scale_history import scale_history

CURVES = {"seed 0": [64.0, 32.0, 32.0, 64.0], "seed 1": [64.0, 64.0, 32.0, 16.0]}


def test_scales_stand_at_their_steps_on_an_axis_of_powers_of_two() -> None:
    ax: Any = scale_history(CURVES)
    assert ax.get_yscale() == "log"
    for line, scales in zip(ax.lines, CURVES.values(), strict=False):
        assert line.get_xdata().tolist() == [1, 2, 3, 4]
        assert list(line.get_ydata()) == scales


def test_a_mark_stands_at_each_step_after_which_the_scale_was_smaller() -> None:
    ax: Any = scale_history(CURVES)
    assert [list(line.get_markevery()) for line in ax.lines] == [[1], [2, 3]]
    assert ax.get_legend().get_title().get_text() == "mark: step skipped"


def test_marks_of_two_runs_at_the_same_place_can_be_told_apart() -> None:
    ax: Any = scale_history({str(k): [64.0, 32.0] for k in range(3)})
    assert len({line.get_marker() for line in ax.lines}) == 3
    assert {line.get_fillstyle() for line in ax.lines} == {"none"}


def test_curves_differ_in_more_than_colour() -> None:
    ax: Any = scale_history(CURVES)
    assert len({line.get_linestyle() for line in ax.lines[:2]}) == 2


def test_without_a_skipped_step_there_is_no_mark_to_explain() -> None:
    ax: Any = scale_history({"calm": [1.0, 2.0, 2.0]})
    assert list(ax.lines[0].get_markevery()) == []
    assert ax.get_legend().get_title().get_text() == ""


@pytest.mark.parametrize("curves", [{}, {"zero": [1.0, 0.0]}, {"nan": [float("nan")]}])
def test_what_cannot_be_drawn_is_refused(curves: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="scales must be above 0"):
        scale_history(curves)
