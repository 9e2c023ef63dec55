"""The step times are drawn in the order in which they were measured."""

import numpy as np

from ampcourse.plotting import figure_html
from ampcourse.plotting.step_times import step_times

GROUPS = {"warm-up": [45000, 6000], "measured": [940, 3940, 945]}


def test_groups_follow_each_other_and_differ_by_marker() -> None:
    points = step_times(GROUPS, {}, "µs").lines
    assert [np.asarray(line.get_xdata()).tolist() for line in points] == [[1, 2], [3, 4, 5]]
    assert [np.asarray(line.get_ydata()).tolist() for line in points] == list(GROUPS.values())
    assert points[0].get_marker() != points[1].get_marker()


def test_lines_run_across_the_last_group_with_their_names() -> None:
    ax = step_times(GROUPS, {"mean": 1941.7, "median": 945.0}, "µs")
    lines = {line.get_label(): line for line in ax.lines[2:]}
    assert {name: set(np.asarray(line.get_ydata())) for name, line in lines.items()} == {
        "mean": {1941.7},
        "median": {945.0},
    }
    for line in lines.values():
        ends = np.asarray(line.get_xdata())
        assert ends[0] < 3
        assert ends[1] > 5
    assert len({line.get_linestyle() for line in lines.values()}) == 2


def test_ticks_lie_around_the_times_and_the_page_stays_small() -> None:
    ax = step_times(GROUPS, {}, "µs")
    assert ax.get_yticks().tolist() == [300, 1000, 3000, 10000, 30000]
    assert len(figure_html(ax, "what it shows")) < 60_000
