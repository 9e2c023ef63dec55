"""The drawings of lesson 02 show the numbers they were given, and nothing else."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from ampcourse.plotting import figure_html
from ampcourse.plotting.rounding import arrows, lost_zones, running_sums

ZONES = {
    "w = 1": ([-2.0, -1.0, 2.0, 4.0], 0.5, 1.0),
    "w = 1.5": ([-2.0, 2.0], 1.0, 1.0),
}
MOVES = {"up": [(0.3, 0.5), (-0.3, 0.0)], "down": [(0.3, 0.0)]}
SUMS = {name: [0.0, 1.0, float(k)] for k, name in enumerate(("exact", "nearest", "chance", "kept"))}


def ticks(ax: Axes) -> list[list[float]]:
    """Return x and the middle of y of every tick."""
    lines = [part for part in ax.collections if isinstance(part, LineCollection)]
    segments = [segment.tolist() for part in lines for segment in part.get_segments()]
    return [[x, (low + high) / 2] for (x, low), (_, high) in segments]


def test_every_neighbour_has_a_tick_in_its_row() -> None:
    expected = [[x, -row] for row, (near, _, _) in enumerate(ZONES.values()) for x in near]
    assert sorted(ticks(lost_zones(ZONES, "one"))) == sorted(expected)


def test_the_lost_zone_reaches_down_and_up_as_far_as_it_was_told_and_is_hatched() -> None:
    bars = lost_zones(ZONES, "one").patches
    spans = []
    for bar in bars:
        assert isinstance(bar, Rectangle)
        spans.append((bar.get_x(), bar.get_x() + bar.get_width(), bar.get_hatch()))
    assert spans == [(-0.5, 1.0, "////"), (-1.0, 1.0, "////")]


def test_the_unit_and_the_zone_are_named() -> None:
    ax = lost_zones(ZONES, "2^-11")
    legend = ax.get_legend()
    assert "2^-11" in ax.get_xlabel()
    assert legend
    assert [text.get_text() for text in legend.get_texts()] == ["lost"]


def test_each_number_has_an_arrow_to_where_it_goes() -> None:
    notes = [text for text in arrows(MOVES, [0.0, 0.5]).texts if isinstance(text, Annotation)]
    assert [(note.xyann[0], note.xy[0]) for note in notes] == [
        pair for moves in MOVES.values() for pair in moves
    ]


def test_the_first_mode_comes_on_top_and_its_line_carries_the_grid() -> None:
    ax = arrows(MOVES, [0.0, 0.5])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(MOVES)
    assert ax.get_yticks()[0] > ax.get_yticks()[1]
    assert ticks(ax) == [[0.0, 0.0], [0.5, 0.0], [0.0, -1.0], [0.5, -1.0]]


def test_each_sum_is_a_curve_told_apart_without_colour_and_named() -> None:
    ax = running_sums(SUMS, [0, 1, 2])
    assert [np.asarray(line.get_ydata()).tolist() for line in ax.lines] == list(SUMS.values())
    assert len({(line.get_linestyle(), line.get_linewidth()) for line in ax.lines}) == len(SUMS)
    legend = ax.get_legend()
    assert legend
    assert [text.get_text() for text in legend.get_texts()] == list(SUMS)


def test_drawings_go_on_the_page_and_stay_small() -> None:
    drawings = lost_zones(ZONES, "one"), arrows(MOVES, [0.0]), running_sums(SUMS, [0, 1, 2])
    for ax in drawings:
        assert len(figure_html(ax, "a drawing")) < 40_000
