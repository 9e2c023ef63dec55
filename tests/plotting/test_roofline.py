"""The bars of a step's least time show the numbers they were given."""

from matplotlib.patches import Rectangle

from ampcourse.plotting import figure_html
from ampcourse.plotting.roofline import time_by_kind

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
