"""The number line that grows binade by binade shows the numbers and the gaps it was given."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.collections import LineCollection

from ampcourse.plotting.binades import binades

# 1 + 3 + 2 bits with the bias 1, up to 8: subnormals, then three binades of four numbers.
STRETCHES = [
    ("subnormal", [0.0, 0.25, 0.5, 0.75], 0.25),
    ("binade [1, 2)", [1.0, 1.25, 1.5, 1.75], 0.25),
    ("binade [2, 4)", [2.0, 2.5, 3.0, 3.5], 0.5),
    ("binade [4, 8)", [4.0, 5.0, 6.0, 7.0], 1.0),
]


def ticks(ax: Any) -> list[list[Any]]:
    """Return the ticks of each stretch: (x, y) of both ends."""
    lines = [part for part in ax.collections if isinstance(part, LineCollection)]
    return [[segment.tolist() for segment in line.get_segments()] for line in lines]


def told(ax: Any) -> list[tuple[str, float]]:
    """Return what is written over the line, and where; the arrows have no text."""
    return [(text.get_text(), text.get_position()[0]) for text in ax.texts if text.get_text()]


def arrows(ax: Any) -> list[tuple[float, float]]:
    return [(text.xyann[0], text.xy[0]) for text in ax.texts if not text.get_text()]


@pytest.mark.parametrize("shown", [1, 2, 4, None])
def test_the_numbers_of_the_stretches_that_are_shown_have_a_tick_each(shown: int | None) -> None:
    found = [[x for (x, _), _ in stretch] for stretch in ticks(binades(STRETCHES, shown))]
    assert found == [numbers for _, numbers, _ in STRETCHES[:shown]]


def test_subnormals_are_told_apart_by_the_height_of_their_ticks() -> None:
    heights = [{top for _, (_, top) in stretch} for stretch in ticks(binades(STRETCHES))]
    assert len(heights[0]) == 1
    assert heights[1] == heights[2] == heights[3] != heights[0]


@pytest.mark.parametrize("shown", [1, 2, 3, 4])
def test_a_step_tells_the_gap_of_its_last_stretch_over_the_whole_of_it(shown: int) -> None:
    name, numbers, gap = STRETCHES[shown - 1]
    ax = binades(STRETCHES, shown)
    end = numbers[-1] + gap
    assert told(ax) == [(f"{name}: gap {gap:g}", (numbers[0] + end) / 2)]
    assert arrows(ax) == [(numbers[0], end)]


def test_all_together_tell_the_gaps_that_have_room() -> None:
    # Each stretch is at least a tenth of this line; on a line eight times as long only the last.
    words = [text for text, _ in told(binades(STRETCHES))]
    assert words == ["gap 0.25", "gap 0.25", "gap 0.5", "gap 1"]
    far = [*STRETCHES, ("binade [8, 64)", [8.0, 16.0, 56.0], 8.0)]
    assert told(binades(far)) == [("gap 8", 36.0)]


def test_all_steps_have_the_axis_of_the_whole_line() -> None:
    views = {(ax.get_xlim(), ax.get_ylim()) for ax in (binades(STRETCHES, k) for k in (1, 2, 4))}
    views.add((binades(STRETCHES).get_xlim(), binades(STRETCHES).get_ylim()))
    [((left, right), _)] = views
    assert left < 0
    assert right > 8


@pytest.mark.parametrize("shown", [0, -1, 5])
def test_a_step_that_there_is_not_is_refused_with_how_many_there_are(shown: int) -> None:
    with pytest.raises(ValueError, match=f"shown={shown}; there are 4"):
        binades(STRETCHES, shown)


def test_a_stretch_of_another_kind_is_refused() -> None:
    with pytest.raises(KeyError, match="normal"):
        binades([("normal", [1.0], 1.0)])
