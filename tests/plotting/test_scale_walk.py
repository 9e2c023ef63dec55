"""The walk of a loss scale shows each step with its fate, and the ceiling from the start."""

from __future__ import annotations

from typing import Any

import pytest

from ampcourse.plotting.scale_walk import WORDS, scale_walk

SCALES = [4.0, 8.0, 4.0, 4.0, 8.0]
CEILINGS = [4.0, 6.0, 6.0, 6.0, 16.0]
TRACKERS = [1, 0, 1, 2, 1]


def walk(shown: int | None = None) -> Any:
    return scale_walk(SCALES, CEILINGS, TRACKERS, shown)


def lines(ax: Any) -> tuple[Any, Any, list[Any]]:
    """Return the ceiling, the path of the scale, and the marks of the steps."""
    ceiling, path, *marks = ax.lines
    return ceiling, path, marks


def test_the_ceiling_is_drawn_over_all_steps_and_the_scale_as_far_as_shown() -> None:
    ceiling, path, marks = lines(walk(3))
    assert ceiling.get_xdata().tolist() == [1, 2, 3, 4, 5]
    assert list(ceiling.get_ydata()) == CEILINGS
    assert list(path.get_xdata()) == [1, 2, 3]
    assert list(path.get_ydata()) == SCALES[:3]
    assert [(*mark.get_xdata(), *mark.get_ydata()) for mark in marks] == [(1, 4), (2, 8), (3, 4)]


def test_without_a_limit_every_step_is_shown() -> None:
    assert len(lines(walk())[2]) == len(lines(walk(5))[2]) == 5


def test_a_step_above_the_ceiling_is_a_cross_and_one_on_it_is_not() -> None:
    assert [mark.get_marker() for mark in lines(walk())[2]] == ["o", "X", "o", "o", "o"]


def test_a_step_tells_its_tracker_or_that_it_is_skipped() -> None:
    assert [text.get_text() for text in walk().texts] == ["1", "skip", "1", "2", "1"]
    assert [text.xy for text in walk(2).texts] == [(1, 4.0), (2, 8.0)]


def test_the_ceiling_is_told_apart_from_the_scale_by_its_dashes_and_is_named() -> None:
    ax = walk()
    ceiling, path, _ = lines(ax)
    assert ceiling.get_linestyle() != path.get_linestyle() == "-"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [WORDS["ceiling"]]


def test_all_steps_have_the_same_axes_with_powers_of_two() -> None:
    views = {(ax.get_xlim(), ax.get_ylim()) for ax in map(walk, (1, 3, 5))}
    assert len(views) == 1
    [(_, (bottom, top))] = views
    assert bottom < min(SCALES) < max(SCALES) < top
    assert walk().get_yscale() == "log"
    assert walk().yaxis.get_transform().base == 2
    assert walk(1).get_xticks().tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("shown", [0, -1, 6])
def test_a_step_that_there_is_not_is_refused_with_how_many_there_are(shown: int) -> None:
    with pytest.raises(ValueError, match=f"shown={shown} of 5 scales"):
        walk(shown)


@pytest.mark.parametrize(("ceilings", "trackers"), [(CEILINGS[:4], TRACKERS), (CEILINGS, [1])])
def test_lists_of_different_lengths_are_refused(ceilings: Any, trackers: Any) -> None:
    with pytest.raises(ValueError, match="one of each per step"):
        scale_walk(SCALES, ceilings, trackers)
    with pytest.raises(ValueError, match="one of each per step"):
        scale_walk([], [], [])
