"""The curves of errors show the numbers they were given, and tell accumulators apart."""

import numpy as np

from ampcourse.plotting import figure_html
from ampcourse.plotting.error_growth import error_growth
from ampcourse.plotting.style import text_shade

CURVES = {
    "fp16": [(16, 2.0**-10), (64, 2.0**-8)],
    "fp32": [(16, 2.0**-25), (64, 2.0**-24)],
    "exact": [(16, 0.0), (64, 0.0)],
}


def test_a_line_has_the_points_it_was_given() -> None:
    for line in error_growth(CURVES).lines:
        points = [tuple(point) for point in np.asarray(line.get_xydata())]
        assert points == CURVES[str(line.get_label())]


def test_a_curve_without_an_error_has_no_line() -> None:
    assert [line.get_label() for line in error_growth(CURVES).lines] == ["fp16", "fp32"]


def test_each_line_carries_its_name() -> None:
    assert {text.get_text() for text in error_growth(CURVES).texts} == {"fp16", "fp32"}


def test_lines_differ_by_more_than_colour() -> None:
    many = {str(n): [(1, 1.0), (2, 2.0 + n)] for n in range(8)}
    lines = error_growth(many).lines
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 8
    assert len({line.get_marker() for line in lines}) == 8


def test_labels_keep_a_distance_where_lines_end_together() -> None:
    ax = error_growth({"high": [(1, 1.0), (2, 9.1)], "low": [(1, 1.0), (2, 9.0)]})
    heights = {text.get_text(): float(text.xy[1]) for text in ax.texts}  # type: ignore[attr-defined]
    assert heights["low"] == 9.0
    assert heights["high"] > 1.1 * heights["low"]
    assert heights["high"] < ax.get_ylim()[1]


def test_both_axes_count_in_powers_of_two() -> None:
    ax = error_growth(CURVES, unit="error in ulps")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylabel() == "error in ulps"


def test_the_axes_say_what_is_added() -> None:
    assert error_growth(CURVES).get_xlabel() == "number of products, K"
    assert error_growth(CURVES, terms="ranks").get_xlabel() == "ranks"


def test_the_figure_is_small_on_the_page() -> None:
    assert len(figure_html(error_growth(CURVES), "two lines that rise")) < 60_000


def test_each_label_has_the_text_shade_of_its_lines_colour() -> None:
    many = {str(n): [(1, 1.0), (2, 2.0 + n)] for n in range(8)}
    ax = error_growth(many)
    shades = {text.get_text(): text.get_color() for text in ax.texts}
    assert shades == {str(line.get_label()): text_shade(str(line.get_color())) for line in ax.lines}
