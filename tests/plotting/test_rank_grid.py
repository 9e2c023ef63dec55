"""The grid of ranks shows each step of each rank where it was given, alarms by two cues."""

import pytest
from matplotlib.colors import to_hex

from ampcourse.plotting import figure_html
from ampcourse.plotting.page import checked_figure
from ampcourse.plotting.rank_grid import LOOKS, rank_grid

ROWS = {
    "rank 0": ("finite", "skip, 512", ""),
    "rank 1": ("save", "not finite", "dies"),
}


def test_each_cell_says_what_its_rank_did_in_its_step() -> None:
    found = {
        (int(t.get_position()[0]), int(t.get_position()[1])): t.get_text()
        for t in rank_grid(ROWS).texts
    }
    assert found == {
        (0, 0): "finite",
        (1, 0): "skip, 512",
        (0, 1): "save",
        (1, 1): "not finite",
        (2, 1): "dies",
    }


def test_rows_run_from_top_to_bottom_and_steps_count_from_0() -> None:
    ax = rank_grid(ROWS)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["rank 0", "rank 1"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_an_alarm_differs_by_colour_and_by_its_line() -> None:
    looks = {
        text.get_text(): (to_hex(patch.get_edgecolor()), patch.get_linestyle())
        for text, patch in zip(rank_grid(ROWS).texts, rank_grid(ROWS).patches, strict=True)
    }
    alarms = {looks[text] for text in ("skip, 512", "not finite", "dies")}
    assert alarms == {(LOOKS["not"][1].lower(), "--")}
    assert not {line for _, line in alarms} & {looks["finite"][1], looks["save"][1]}


def test_blank_cells_keep_the_size_of_the_figure() -> None:
    blank = {label: ["", "", ""] for label in ROWS}
    one_line = {label: ["finite"] * 3 for label in ROWS}
    figures = [checked_figure(rank_grid(rows)) for rows in (one_line, blank)]
    assert figures[0].get_size_inches().tolist() == figures[1].get_size_inches().tolist()
    assert not list(rank_grid(blank).patches) + list(rank_grid(blank).texts)


def test_cells_of_two_lines_are_higher() -> None:
    one, two = (checked_figure(rank_grid({"rank 0": [text]})) for text in ("ok", "ok\n512"))
    assert two.get_size_inches()[1] > one.get_size_inches()[1]


def test_groups_stand_apart() -> None:
    rows = {name: ["ok"] for name in "abc"}
    ticks = list(rank_grid(rows, groups=(2,)).get_yticks())
    assert ticks[2] - ticks[1] > ticks[1] - ticks[0]


@pytest.mark.parametrize("rows", [{}, {"a": ["ok"], "b": ["ok", "ok"]}])
def test_nothing_and_rows_of_different_lengths_are_refused(rows: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="rows of"):
        rank_grid(rows)


def test_the_figure_becomes_html_with_its_alt_text() -> None:
    assert 'alt="two ranks"' in figure_html(rank_grid(ROWS), "two ranks")
