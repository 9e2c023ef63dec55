"""The figures of the loss-scaling lesson show the numbers they were given."""

import numpy as np

from ampcourse.plotting import figure_html
from ampcourse.plotting.loss_curves import layer_zeros, loss_grid, scale_cliffs

PANELS = {"one": [[2.0, 1.0], [2.5, 1.5]], "two": [[3.0, 3.5]], "three": [[2.0, 2.0]]}
CLIFFS = [(0, 0.875, 0.0), (2, 0.5, 0.0), (4, 0.25, 0.75)]
LAYERS = {"fp32": [0.0, 0.5], "fp16": [1.0, 0.625], "scaled": [0.125, 0.5]}


def heights(line: object) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]  # type: ignore[attr-defined]


def test_each_panel_has_its_runs_before_the_reference() -> None:
    panels = loss_grid(PANELS, reference=[[2.0, 0.5]]).figure.axes
    assert [ax.get_title(loc="left") for ax in panels[:3]] == list(PANELS)
    for ax, runs in zip(panels, PANELS.values(), strict=False):
        assert [heights(line) for line in ax.lines] == [[2.0, 0.5], *runs]
        assert ax.lines[0].get_zorder() <= ax.lines[1].get_zorder()


def test_panels_share_their_scales_and_an_empty_place_is_hidden() -> None:
    panels = loss_grid(PANELS).figure.axes
    assert len({ax.get_ylim() for ax in panels[:3]}) == 1
    assert [ax.axison for ax in panels] == [True, True, True, False]


def test_runs_of_one_panel_differ_by_more_than_colour() -> None:
    first = loss_grid(PANELS).figure.axes[0]
    assert len({line.get_linestyle() for line in first.lines}) == 2


def test_the_reference_is_named_in_the_legend_as_the_caller_says() -> None:
    for named in ({}, {"reference_name": "BF16"}):
        first = loss_grid(PANELS, [[2.0, 0.5]], **named).figure.axes[0]  # type: ignore[arg-type]
        words = [text.get_text() for text in first.get_legend().get_texts()]  # type: ignore[union-attr]
        assert words == [named.get("reference_name", "FP32")]


def test_losses_of_every_tenth_step_stand_ten_steps_apart() -> None:
    axes = loss_grid(PANELS, [[2.0, 0.5]], every=10).figure.axes[:2]
    assert [np.asarray(line.get_xdata()).tolist() for ax in axes for line in ax.lines] == [
        [0, 10]
    ] * 5


def test_a_wide_reference_shows_on_both_sides_of_a_run_that_lies_on_it() -> None:
    first = loss_grid(PANELS, [[2.0, 1.0]], reference_width=4).figure.axes[0]
    assert first.lines[0].get_linewidth() == 4 > first.lines[1].get_linewidth()


def test_cliffs_are_drawn_in_percent_over_the_exponent() -> None:
    zeros, lost = scale_cliffs(CLIFFS).lines
    assert heights(zeros) == [87.5, 50.0, 25.0]
    assert heights(lost) == [0.0, 0.0, 75.0]
    assert [int(x) for x in np.asarray(lost.get_xdata())] == [0, 2, 4]
    assert zeros.get_marker() != lost.get_marker()


def test_layers_are_counted_from_one_and_arms_differ_by_marker() -> None:
    lines = layer_zeros(LAYERS).lines
    assert [heights(line) for line in lines] == [[0, 50], [100, 62.5], [12.5, 50]]
    assert [list(np.asarray(line.get_xdata())) for line in lines] == [[1, 2]] * 3
    assert len({line.get_marker() for line in lines}) == 3


def test_the_figures_are_small_on_the_page() -> None:
    for ax in (loss_grid(PANELS), scale_cliffs(CLIFFS), layer_zeros(LAYERS)):
        assert len(figure_html(ax, "what it shows")) < 90_000
