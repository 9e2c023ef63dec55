"""The exponent figure shows the bars it was given, where they stand and where they go."""

from __future__ import annotations

import io
import math
import warnings
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("numpy")

from matplotlib.patches import Rectangle

from ampcourse.dynamic_range import exponent_histogram, scaled_view
from ampcourse.plotting import figure_html
from ampcourse.plotting.exponents import WORDS, exponents
from ampcourse.plotting.style import lettering

# In FP16: one true zero, one flushed on the tie, one that rounds up, a subnormal, two normal.
VALUES = [0.0, 2.0**-25, 1.5 * 2.0**-25, 2.0**-20, 1.0, 1.5, 2.0**15, 2.0**16]


def draw(values: list[float], fmt: str = "fp16", scale: float = 1.0, **options: Any) -> Any:
    return exponents(scaled_view(exponent_histogram(values, "layer"), fmt, scale), **options)


def boxes(ax: Any) -> dict[tuple[float, float], tuple[float, str | None]]:
    """Return left and bottom of every bar with its height and hatch."""
    bars = [p for container in ax.containers for p in container if isinstance(p, Rectangle)]
    return {
        (round(p.get_x(), 6), round(p.get_y(), 6)): (round(p.get_height(), 6), p.get_hatch())
        for p in bars
        if p.get_height()
    }


def test_bars_stand_at_their_exponents_with_flushed_values_hatched_on_top() -> None:
    share = 100 / len(VALUES)
    assert boxes(draw(VALUES)) == {
        (-25, 0): (share, None),
        (-25, share): (share, "////"),
        (-20, 0): (share, None),
        (0, 0): (2 * share, None),
        (15, 0): (share, None),
        (16, 0): (share, "xxxx"),
    }


def test_scaling_moves_the_bars_and_lifts_them_out_of_the_zeros() -> None:
    share = 100 / len(VALUES)
    found = boxes(draw(VALUES, scale=2.0**4))
    assert found[-21, 0] == (2 * share, None)
    assert found[4, 0] == (2 * share, None)
    assert found[20, 0] == (share, "xxxx")


def test_the_column_of_zeros_holds_the_flushed_and_the_true_ones() -> None:
    share = 100 / len(VALUES)
    ax = draw(VALUES)
    [column] = ax.child_axes
    assert boxes(column) == {(-0.5, 0): (share, "////"), (-0.5, share): (share, None)}
    assert column.get_ylim() == (0, 100)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["rounds to 0: 12.5 %", "0 already: 12.5 %"]


def test_the_window_of_the_format_is_marked_and_named() -> None:
    ax = draw(VALUES)
    lines = sorted(line.get_xdata()[0] for line in ax.lines)
    assert lines == [-24, -14, math.log2(65504)]
    names = {text.get_text() for text in ax.texts}
    assert names <= {WORDS[place] for place in ("below", "subnormal", "normal", "above")}
    assert {"subnormal", "normal"} <= names


@pytest.mark.parametrize(
    ("fmt", "largest"),
    [("e4m3", 448), ("e5m2", 57344), ("e2m1", 6), ("bf16", float.fromhex("0x1.fep127"))],
)
def test_the_window_ends_at_the_largest_number_not_at_the_end_of_its_binade(
    fmt: str, largest: float
) -> None:
    ax = draw([1.0], fmt, limits=(-150, 150))
    assert max(line.get_xdata()[0] for line in ax.lines) == math.log2(largest)
    shaded = [p for p in ax.patches if isinstance(p, Rectangle) and p.get_alpha() == 0.4]
    assert max(p.get_x() + p.get_width() for p in shaded) == pytest.approx(math.log2(largest))


def test_counts_tell_numbers_of_values_and_what_is_too_large() -> None:
    texts = [text.get_text() for text in draw(VALUES, counts=True).get_legend().get_texts()]
    assert texts == ["rounds to 0: 1", "0 already: 1", "too large: 1"]


def test_kinds_of_bars_differ_without_colour() -> None:
    ax = draw([2.0**-30, 1.0, 2.0**20])
    hatches = [hatch for _, hatch in boxes(ax).values()]
    assert len(set(hatches)) == 3


def test_infinities_and_nan_have_a_bar_only_if_there_are_any() -> None:
    ax = draw([1.0, math.inf, math.nan, -math.inf])
    assert "inf, NaN: 3" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(draw([1.0]).get_legend().get_texts()) == 2


def test_figures_can_share_an_axis() -> None:
    limits = (-40, 20)
    spans = {draw(VALUES, scale=scale, limits=limits).get_xlim() for scale in (1.0, 2.0**10)}
    assert spans == {(-40, 20)}


def test_every_bar_lies_inside_the_axes() -> None:
    for scale in (2.0**-60, 1.0, 2.0**60):
        ax = draw(VALUES, scale=scale)
        low, high = ax.get_xlim()
        assert all(low <= left < high for left, _ in boxes(ax))
        assert (
            max(bottom + height for (_, bottom), (height, _) in boxes(ax).items())
            < ax.get_ylim()[1]
        )


def test_title_says_what_is_shown() -> None:
    assert draw(VALUES).get_title(loc="left") == "layer in fp16"
    assert draw(VALUES, scale=2.0**-3).get_title(loc="left") == "layer × 2^-3 in fp16"


@pytest.mark.parametrize("values", [[], [0.0], [math.nan]])
def test_nothing_but_zeros_is_drawn_too(values: list[float]) -> None:
    assert draw(values).get_xlim()[0] < -24


@pytest.mark.parametrize("letters", [1.0, 1.3])
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "e4m3", "e2m1", "fp64"])
def test_nothing_is_cut_off_and_drawing_raises_no_warning(fmt: str, letters: float) -> None:
    with warnings.catch_warnings(), lettering(letters):
        warnings.simplefilter("error")
        ax = draw(VALUES, fmt)
        ax.figure.savefig(io.BytesIO(), format="svg")  # lays out as well
    [column] = ax.child_axes
    labels = [*column.get_yticklabels(), *column.get_xticklabels(), ax.xaxis.label, ax.title]
    for item in [*labels, *ax.texts]:
        box = item.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.x1
    names = [text.get_window_extent() for text in ax.texts]
    assert all(a.x1 < b.x0 for a, b in pairwise(names))


def test_the_picture_stays_small() -> None:
    assert len(figure_html(draw(VALUES), "a histogram")) < 60_000
