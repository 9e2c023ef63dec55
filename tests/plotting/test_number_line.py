"""The drawings of lesson 01 show the numbers they were given, and nothing else."""

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle, StepPatch

from ampcourse.plotting import figure_html
from ampcourse.plotting.number_line import gaps, number_line, ranges

ROWS = {
    "wide": [(0.0, "zero"), (0.5, "subnormal"), (1.0, "normal"), (3.0, "normal")],
    "narrow": [(0.0, "zero"), (0.25, "subnormal"), (0.5, "subnormal"), (1.0, "normal")],
}


def ticks(ax: Axes) -> list[list[list[float]]]:
    """Return the bottom and the top of every tick, each an (x, y)."""
    lines = [part for part in ax.collections if isinstance(part, LineCollection)]
    return [segment.tolist() for part in lines for segment in part.get_segments()]


def test_every_number_has_one_tick_in_its_row() -> None:
    expected = [(x, -row) for row, numbers in enumerate(ROWS.values()) for x, _ in numbers]
    assert sorted((x, y) for (x, y), _ in ticks(number_line(ROWS))) == sorted(expected)


def test_first_row_comes_on_top() -> None:
    ax = number_line(ROWS)
    heights = dict(zip([t.get_text() for t in ax.get_yticklabels()], ax.get_yticks(), strict=True))
    assert heights["wide"] > heights["narrow"]


def test_kinds_are_named_and_told_apart_without_colour() -> None:
    ax = number_line(ROWS)
    legend = ax.get_legend()
    assert legend
    assert {text.get_text() for text in legend.get_texts()} == {
        "zero",
        "subnormal",
        "normal",
    }
    heights = {round(top - bottom, 3) for (_, bottom), (_, top) in ticks(ax)}
    assert len(heights) == 2


def test_a_staircase_has_the_steps_it_was_given() -> None:
    ax = gaps({"fp16": [(-24, -14, -24), (-14, -13, -24), (-13, -12, -23)]})
    [stairs] = ax.patches
    assert isinstance(stairs, StepPatch)
    values, edges, _ = stairs.get_data()
    assert edges.tolist() == [-24, -14, -13, -12]
    assert values.tolist() == [-24, -24, -23]


def test_each_staircase_carries_its_name() -> None:
    steps = [(0, 1, -10), (1, 2, -9)]
    ax = gaps({"fp16": steps, "bf16": steps})
    assert [text.get_text() for text in ax.texts] == ["fp16", "bf16"]


def test_a_bar_runs_from_the_smallest_to_the_largest_with_the_subnormals_hatched() -> None:
    ax = ranges({"fp16": (-24, -14, 16), "bf16": (-133, -126, 128)})
    normal, subnormal, *_ = ax.patches
    assert isinstance(normal, Rectangle)
    assert isinstance(subnormal, Rectangle)
    assert (normal.get_x(), normal.get_x() + normal.get_width(), normal.get_hatch()) == (
        -14, 16, None)  # fmt: skip
    assert (subnormal.get_x(), subnormal.get_width(), subnormal.get_hatch()) == (-24, 10, "////")


def test_drawings_go_on_the_page_and_stay_small() -> None:
    for ax in (number_line(ROWS), gaps({"fp16": [(0, 1, -10)]}), ranges({"fp16": (-24, -14, 16)})):
        assert len(figure_html(ax, "a drawing")) < 40_000
