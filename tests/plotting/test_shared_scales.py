"""The figure of shared scales shows each value by its fate, and each block's threshold."""

import numpy as np
import pytest

from ampcourse.plotting import figure_html
from ampcourse.plotting.shared_scales import Row, shared_scales

ROW: Row = (
    [0.0, -3.0, 25.0, 1.0],
    ["kept", "flushed", "clamped", "outlier"],
    [(0, 2, -2.0), (2, 4, -30.0)],
)
ENDS = (-5.0, 20.0)


def points(row: Row = ROW) -> dict[str, list[tuple[float, float]]]:
    lines = {str(line.get_label()): line for line in shared_scales({"one": row}, ENDS).lines}
    names = ("kept", "flushed", "clamped", "outlier")
    return {name: [(x, y) for x, y in np.asarray(lines[name].get_xydata())] for name in names}


def test_each_value_stands_in_its_place_with_the_look_of_its_fate() -> None:
    assert points() == {
        "kept": [(0, 0)],
        "flushed": [(1, -3)],
        "clamped": [(2, 20)],  # larger than the axis: at its end
        "outlier": [(3, 1)],
    }


def test_each_block_has_its_threshold_within_the_axis() -> None:
    ax = shared_scales({"one": ROW}, ENDS)
    dashes = [line.get_xydata() for line in ax.lines if line.get_linestyle() == "--"]
    assert [np.asarray(line).tolist() for line in dashes] == [
        [[-0.5, -2], [1.5, -2]],
        [[1.5, -5], [3.5, -5]],
    ]


def test_fates_differ_by_marker_and_each_way_has_its_panel() -> None:
    ax = shared_scales({"one": ROW, "two": ROW}, ENDS)
    assert [panel.get_title(loc="left") for panel in ax.figure.axes] == ["one", "two"]
    markers = {line.get_marker() for line in ax.lines if line.get_linestyle() == "None"}
    assert markers == {"o", "x", "^", "D"}
    assert len(figure_html(ax, "what it shows")) < 40_000


def test_lists_of_different_lengths_and_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="4 sizes and 3 fates"):
        shared_scales({"one": (ROW[0], ROW[1][:3], ROW[2])}, ENDS)
    with pytest.raises(ValueError, match="nothing to draw"):
        shared_scales({}, ENDS)
