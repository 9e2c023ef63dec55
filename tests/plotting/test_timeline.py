"""The timelines show the spans of the window, each in its lane."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from ampcourse.benchmark.trace import Span, Trace
from ampcourse.plotting import figure_html
from ampcourse.plotting.timeline import timelines

TRACE = Trace(
    (
        Span("host", "launch", "a", 0, 40),
        Span("host", "wait", "b", 40, 100),
        Span("device", "convolution", "c", 10, 60),
        Span("device", "relu", "d", 60, 90),
        Span("device", "relu", "e", 90, 90.1),
        Span("device", "relu", "far away", 500, 600),
    ),
    "a test",
)


def drawn() -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for part in timelines({"one": TRACE}, 0, 200).collections:
        assert isinstance(part, PolyCollection)
        boxes = [path.get_extents() for path in part.get_paths()]
        lane = "host" if boxes[0].y0 > 0.5 else "device"
        found.setdefault(lane, []).extend((round(box.x0, 1), round(box.x1, 1)) for box in boxes)
    return {lane: sorted(ends) for lane, ends in found.items()}


def test_each_span_of_the_window_stands_in_its_lane() -> None:
    assert drawn() == {
        "host": [(0.0, 40.0), (40.0, 100.0)],
        "device": [(10.0, 60.0), (60.0, 90.0), (90.0, 90.1)],
    }


def test_a_panel_has_its_title_and_the_legend_names_each_kind_once() -> None:
    ax = timelines({"one": TRACE, "two": TRACE}, 0, 200)
    assert [panel.get_title(loc="left") for panel in ax.figure.axes] == ["one", "two"]
    [legend] = ax.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert sorted(names) == sorted(set(names))
    assert len(names) == 4


def test_what_is_too_thin_for_a_pattern_is_drawn_in_its_own_colour() -> None:
    parts = timelines({"one": TRACE}, 0, 200).collections
    thin = [part for part in parts if str(part.get_label()).startswith("_")]
    assert len(thin) == 1
    assert np.array_equal(thin[0].get_edgecolor(), thin[0].get_facecolor())


def test_kinds_differ_by_more_than_colour_and_the_page_stays_small() -> None:
    ax = timelines({"one": TRACE}, 0, 200)
    hatches = [part.get_hatch() for part in ax.collections]
    assert len({hatch for hatch in hatches if hatch}) == 2
    assert len(figure_html(ax, "what it shows")) < 60_000


def test_nothing_to_draw_is_refused() -> None:
    for traces, end in (({}, 10.0), ({"one": TRACE}, 0.0)):
        with pytest.raises(ValueError, match="nothing to draw"):
            timelines(traces, 0, end)
