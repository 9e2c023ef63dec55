"""The roof and the bars of a step's least time show the numbers they were given."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from ampcourse.plotting import figure_html
from ampcourse.plotting.roofline import roofline, time_by_kind

PARTS = {
    "fp32": {"convolution": 0.4, "batch norm": 0.1, "add": 0.05, "pooling": 0.02, "cast": 0.01},
    "amp": {"relu": 0.03, "convolution": 0.06},
}


def bars() -> dict[float, list[tuple[float, float]]]:
    found: dict[float, list[tuple[float, float]]] = {}
    for patch in time_by_kind(PARTS).patches:
        assert isinstance(patch, Rectangle)
        row = patch.get_y() + patch.get_height() / 2
        found.setdefault(round(row), []).append(
            (round(patch.get_x(), 6), round(patch.get_width(), 6))
        )
    return found


def test_each_recipe_is_a_bar_in_milliseconds_without_gaps() -> None:
    assert bars() == {
        1: [(0.0, 400.0), (400.0, 100.0), (500.0, 50.0), (550.0, 30.0)],
        0: [(0.0, 60.0), (60.0, 30.0), (90.0, 0.0)],
    }


def test_the_first_recipe_is_on_top_and_totals_stand_beside_the_bars() -> None:
    ax = time_by_kind(PARTS)
    names = dict(zip(ax.get_yticks(), [t.get_text() for t in ax.get_yticklabels()], strict=True))
    assert names == {1: "fp32", 0: "amp"}
    assert [text.get_text() for text in ax.texts] == ["580 ms", "90 ms"]


def test_kinds_bear_the_fields_names_and_the_total_has_room() -> None:
    ax = time_by_kind(PARTS)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "convolution", "batch norm", "sum", "other", "ReLU",
    ]  # fmt: skip
    assert ax.get_xlim()[1] > 1.1 * 580


def test_kinds_differ_by_more_than_colour_and_the_page_stays_small() -> None:
    ax = time_by_kind(PARTS)
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in ax.patches}
    hatches = {hatch for _, hatch in looks}
    assert len(looks) == 5
    assert len(hatches) >= 4
    assert len(figure_html(ax, "what it shows")) < 40_000


ROOFS = {"before": [(1, 1), (16, 16), (256, 16)], "now": [(1, 1), (128, 128), (256, 128)]}
LAYERS = {"3×3": [(200, 128), (100, 100)], "1×1": [(50, 50)]}
ENDS = ((1, 256), (1, 256))


def test_each_roof_and_each_layer_stands_where_it_was_given() -> None:
    lines = [line.get_xydata() for line in roofline(ROOFS, LAYERS, ENDS).lines]
    found = [[(x, y) for x, y in np.asarray(line)] for line in lines]
    assert found == [*ROOFS.values(), *LAYERS.values()]


def test_the_roof_of_now_is_solid_and_the_one_before_dashed() -> None:
    assert [line.get_linestyle() for line in roofline(ROOFS, LAYERS, ENDS).lines[:2]] == ["--", "-"]
    assert roofline({"now": ROOFS["now"]}, LAYERS, ENDS).lines[0].get_linestyle() == "-"


def test_groups_of_layers_differ_by_marker_and_axes_stay_as_they_were_asked_for() -> None:
    ax = roofline(ROOFS, LAYERS, ENDS)
    assert len({line.get_marker() for line in ax.lines[2:]}) == 2
    assert (ax.get_xlim(), ax.get_ylim()) == ENDS
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "4", "16", "64", "256"]


def test_three_roofs_are_refused() -> None:
    with pytest.raises(ValueError, match="3 roofs"):
        roofline({**ROOFS, "third": [(1, 1)]}, LAYERS, ENDS)
