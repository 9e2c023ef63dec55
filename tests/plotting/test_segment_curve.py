"""The figure of segments shows the plans and the measured peaks it was given."""

import numpy as np

from ampcourse.memory.segments import Plan
from ampcourse.plotting import figure_html
from ampcourse.plotting.segment_curve import segment_curve

PLANS = [Plan(1, 4, 4096, 4096, 0), Plan(2, 4, 3072, 3072, 2), Plan(4, 4, 4096, 5120, 3)]


def numbers(line: object) -> tuple[list[float], list[float]]:
    get = (line.get_xdata(), line.get_ydata())  # type: ignore[attr-defined]
    x, y = ([float(v) for v in np.asarray(data)] for data in get)
    return x, y


def test_peaks_kept_bytes_and_measurements_are_drawn_in_kib() -> None:
    upper = segment_curve(PLANS, {1: 4096, 4: 5120}, {"√n": 2})
    assert numbers(upper.lines[0]) == ([1, 2, 4], [4, 3, 5])
    assert numbers(upper.lines[1]) == ([1, 2, 4], [4, 3, 4])
    assert numbers(upper.lines[2]) == ([1, 4], [4, 5])
    assert upper.lines[0].get_linestyle() != upper.lines[1].get_linestyle()


def test_the_share_of_layers_that_run_twice_is_drawn_below() -> None:
    lower = segment_curve(PLANS, {}).figure.axes[1]
    assert numbers(lower.lines[0]) == ([1, 2, 4], [0, 50, 75])


def test_marks_are_named_and_drawn_in_both_axes() -> None:
    upper = segment_curve(PLANS, {}, {"√n": 2.0, "√(3n)": 3.5})
    assert [text.get_text() for text in upper.texts] == ["√n", "√(3n)"]
    lower = upper.figure.axes[1]
    assert [numbers(line)[0] for line in lower.lines[1:]] == [[2.0, 2.0], [3.5, 3.5]]
    assert not segment_curve(PLANS, {}).texts


def test_the_figure_becomes_html_with_its_alt_text() -> None:
    assert 'alt="curve"' in figure_html(segment_curve(PLANS, {1: 4096}), "curve")
