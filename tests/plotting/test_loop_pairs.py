"""The figure of loops beside what they were meant to do shows the numbers it was given."""

import math

import numpy as np

from ampcourse.plotting import figure_html
from ampcourse.plotting.loop_pairs import WORDS, loop_pairs

PANELS = {
    "one": ([2.0, 1.75, 1.5], [2.0, 1.5, 1.0]),
    "two": ([2.0, 1.25, math.nan], [2.0, 1.5, 1.25]),
    "three": ([2.0, 4e9, 5e9], [2.0, 1.75, 1.5]),
    "four": ([2.0, 1.5, 1.0], [2.0, 1.5, 1.0]),
}


def heights(line: object) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]  # type: ignore[attr-defined]


def test_each_panel_has_the_loop_before_what_was_meant() -> None:
    panels = loop_pairs(PANELS).figure.axes
    for ax, (title, (loop, meant)) in zip(panels, PANELS.items(), strict=False):
        assert ax.get_title(loc="left") == title
        assert heights(ax.lines[0]) == meant
        assert np.array_equal(heights(ax.lines[1]), loop, equal_nan=True)
        assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()


def test_a_cross_marks_where_a_loop_turned_into_nan() -> None:
    panels = loop_pairs(PANELS).figure.axes
    assert [len(ax.lines) for ax in panels[:4]] == [2, 3, 2, 2]
    cross = panels[1].lines[2]
    place = [int(x) for x in np.asarray(cross.get_xdata())]
    assert (cross.get_marker(), place, heights(cross)) == ("X", [1], [1.25])


def test_a_loop_that_explodes_leaves_the_scale_to_what_was_meant() -> None:
    panels = loop_pairs(PANELS).figure.axes
    assert {ax.get_ylim() for ax in panels[:4]} == {(0.9, 2.25)}


def test_the_legend_stands_in_a_free_place_and_else_in_the_first_panel() -> None:
    panels = loop_pairs(PANELS).figure.axes
    assert [ax.get_legend() is not None for ax in panels] == [False] * 4 + [True, False]
    assert [ax.axison for ax in panels] == [True] * 4 + [False] * 2
    full = loop_pairs({"one": PANELS["one"]}, columns=1).figure.axes
    legend = full[0].get_legend()
    texts = [text.get_text() for text in legend.get_texts()] if legend else []
    assert texts == [WORDS["meant"], WORDS["loop"]]


def test_the_lowest_panel_of_each_column_names_the_axis() -> None:
    panels = loop_pairs(PANELS).figure.axes
    assert [bool(ax.get_xlabel()) for ax in panels] == [False, True, True, True, False, False]


def test_the_figure_becomes_html_with_its_alt_text() -> None:
    assert 'alt="loops"' in figure_html(loop_pairs(PANELS), "loops")
