"""The figure of rates shows each where it is, its limit, and what is host-bound."""

from __future__ import annotations

from typing import Any

import pytest

from ampcourse.plotting.benchmark_rows import RateBar, benchmark_rows

BARS = [
    RateBar("fp32", "at 96 px", 1000.0, 4000.0),
    RateBar("amp-bf16", "at 96 px", 2000.0, 8000.0),
    RateBar("fp32", "at 28 px", 9000.0, None, host_bound=True),
]


def points(ax: Any, label: str) -> list[tuple[float, float]]:
    return [tuple(line.get_xydata()[0]) for line in ax.lines if line.get_label() == label]


def test_rates_and_limits_are_where_they_are_under_the_title_of_their_group() -> None:
    ax: Any = benchmark_rows(BARS)
    assert points(ax, "measured") == [(1000.0, 1.0), (2000.0, 2.0)]
    assert points(ax, "limit") == [(4000.0, 1.0), (8000.0, 2.0)]
    assert points(ax, "host-bound") == [(9000.0, 4.0)]
    texts = [text.get_text() for text in ax.texts]
    assert texts[0] == "at 96 px"
    assert texts[1] == "1,000, 25% of its limit"
    assert texts[3:] == ["at 28 px", "9,000"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fp32", "amp-bf16", "fp32"]


def test_a_host_bound_rate_differs_in_colour_and_shape() -> None:
    ax: Any = benchmark_rows(BARS)
    by_label = {line.get_label(): line for line in ax.lines}
    bound, measured = by_label["host-bound"], by_label["measured"]
    assert bound.get_marker() != measured.get_marker()
    assert bound.get_color() != measured.get_color()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {
        "measured",
        "limit",
        "host-bound",
    }


def test_twice_as_fast_is_equally_far_everywhere_and_numbers_have_room() -> None:
    ax: Any = benchmark_rows(BARS)
    assert ax.get_xscale() == "log"
    ax.figure.draw_without_rendering()
    right = ax.get_window_extent().x1
    assert all(text.get_window_extent().x1 <= right for text in ax.texts)


@pytest.mark.parametrize(
    ("bars", "message"),
    [
        ([], "there is no rate to draw"),
        ([RateBar("fp32", "a", 0.0)], "fp32: rate 0.0 and limit None must be above 0"),
        ([RateBar("fp32", "a", 1.0, -1.0)], "limit -1.0 must be above 0"),
        ([RateBar("fp32", "a", float("nan"))], "rate nan"),
    ],
)
def test_what_cannot_be_drawn_is_refused(bars: list[RateBar], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        benchmark_rows(bars)
