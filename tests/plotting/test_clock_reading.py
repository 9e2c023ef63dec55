"""The figure of a clock shows the spans, and what the clock took in."""

import pytest
from matplotlib.patches import Rectangle

from ampcourse.plotting import figure_html
from ampcourse.plotting.clock_reading import clock_reading

SPANS = [
    ("host", "issue", "issue", 0.0, 40.0),
    ("host", "wait", "waits", 40.0, 940.0),
    ("device", "step", "step 1", 40.0, 940.0),
]


def bars(reading: tuple[float, float]) -> list[tuple[float, float, float]]:
    found = [p for p in clock_reading(SPANS, reading, "so long", 1000).patches
             if isinstance(p, Rectangle)]  # fmt: skip
    return [(p.get_x(), p.get_width(), round(p.get_y() + p.get_height() / 2, 6)) for p in found]


def test_the_shade_is_the_reading_and_each_span_stands_in_its_lane() -> None:
    shade, *spans = bars((0, 940))
    assert shade[:2] == (0, 940)
    assert spans == [(0, 40, 1), (40, 900, 1), (40, 900, 0)]


def test_what_the_clock_says_is_the_title_and_narrow_spans_bear_no_name() -> None:
    ax = clock_reading(SPANS, (0, 40), "so long", 1000)
    assert ax.get_title(loc="left") == "so long"
    assert [text.get_text() for text in ax.texts] == ["waits", "step 1"]


def test_lanes_and_kinds_differ_by_more_than_colour() -> None:
    ax = clock_reading(SPANS, (0, 40), "40 µs", 1000)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["device", "host", "clock"]
    hatches = {patch.get_hatch() for patch in ax.patches if isinstance(patch, Rectangle)}
    assert "//" in hatches
    assert len(figure_html(ax, "what it shows")) < 40_000


def test_a_reading_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="ends before it begins"):
        clock_reading(SPANS, (940, 0), "so long", 1000)
