"""The drawing of a block can be read back: its digits, where they stand, are its numbers."""

from __future__ import annotations

import io
import warnings
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import Rectangle

from ampcourse.formats import power_of_two
from ampcourse.plotting import figure_html
from ampcourse.plotting.block_sum import STAGES, WORDS, block_sum
from ampcourse.plotting.style import lettering
from ampcourse.tensor_core.reference import BlockTerms
from ampcourse.widgets.block.chain import chain
from ampcourse.widgets.block.picture import BlockPicture
from ampcourse.widgets.block.state import BlockState

# A product that is not normalised, one that loses bits, one that loses all, and a negative C.
A = [1.75, -1.3125, 2.0**-13]
B = [1.75, 1.25 * 2.0**-20, 1.5 * 2.0**-14]
C = -(1 + 2.0**-22 + 2.0**-23) * 2.0**-2


def draw(data: dict[str, Any], *told: str | None) -> Any:
    return block_sum(data, *told)


def picture(gpu: str = "V100") -> BlockPicture:
    return BlockPicture(chain(BlockState.of(A, B, C, gpu, "fp16", "fp32")), 0)


def digits(ax: Any) -> list[tuple[int, int, str, bool]]:
    """Return row, column, digit and whether it is boxed, of every bit that is drawn."""
    boxes = {
        (int(patch.get_y()), int(patch.get_x()))
        for patch in ax.patches
        if isinstance(patch, Rectangle)
    }
    found = []
    for text in ax.texts:
        x, y = text.get_position()
        if text.get_text() in ("0", "1") and x > 0:
            place = int(y), int(x)
            found.append((*place, text.get_text(), place in boxes))
    return found


def read(ax: Any, row: int, top: int, boxed: bool) -> Fraction:
    """Return what the bits of a row are worth, those in boxes or the others."""
    bits = [(c, d) for r, c, d, inside in digits(ax) if r == row and inside == boxed]
    return sum((int(d) * power_of_two(top - c) for c, d in bits), Fraction(0))


def parts() -> tuple[dict[str, Any], BlockTerms, int]:
    """Return the plain data, the block itself and the exponent of the first column."""
    one = picture()
    grid = one.grid()
    assert grid
    return one.as_data(), one.block, grid.top


TERMS = [term for term in picture().block.terms if term.product]


def test_lined_up_every_digit_stands_at_the_column_of_its_worth() -> None:
    data, _, top = parts()
    ax = draw(data, "alignment")
    assert [read(ax, row, top, boxed=True) for row in range(len(TERMS))] == [
        abs(term.product or 0) for term in TERMS
    ]


def test_before_that_all_points_stand_at_one_column_whatever_the_exponents() -> None:
    data, block, top = parts()
    for stage in ("products", "exponents"):
        found = draw(data, stage)
        shifted = [read(found, row, top, boxed=True) for row in range(len(TERMS))]
        assert shifted == [
            abs(term.product or Fraction(0))
            * power_of_two((block.emax or 0) - (term.exponent or 0))
            for term in TERMS
        ]


@pytest.mark.parametrize("stage", ["cut", None])
def test_what_stays_in_boxes_is_kept_and_the_rest_is_lost(stage: str | None) -> None:
    data, _, top = parts()
    ax = draw(data, stage)
    for row, term in enumerate(TERMS):
        assert read(ax, row, top, boxed=True) == abs(term.truncated or 0)
        assert read(ax, row, top, boxed=False) == abs(term.lost or 0)


def test_the_sum_is_that_of_what_was_kept_and_loses_bits_once_more_at_the_end() -> None:
    data, block, top = parts()
    row = len(TERMS)
    assert read(draw(data, "sum"), row, top, boxed=True) == block.truncated_sum
    last = draw(data, "rounding")
    assert read(last, row, top, boxed=True) == read(last, row + 1, top, boxed=True)
    assert read(last, row + 1, top, boxed=True) == Fraction(block.result)
    assert read(last, row, top, boxed=False) == (block.truncated_sum or 0) - Fraction(block.result)
    assert block.truncated_sum != Fraction(block.result)


def test_the_nearest_number_is_held_against_the_result() -> None:
    data, _, top = parts()
    nearest = read(draw(data, "rounding"), len(TERMS) + 2, top, boxed=True)
    assert nearest == Fraction(picture().chain.rounded)


def test_shifts_are_the_distances_to_the_largest_exponent() -> None:
    data, block, _ = parts()
    told = [t.get_text() for t in draw(data, "alignment").texts if "→" in t.get_text()]
    gaps = [(block.emax or 0) - (term.exponent or 0) for term in TERMS]
    assert told == [f"→ {gap}" for gap in gaps if gap]


def test_exponents_come_with_their_stage_and_the_largest_has_a_frame() -> None:
    data, block, _ = parts()
    assert not any("=" in t.get_text() for t in draw(data, "products").texts)
    framed = [t.get_text() for t in draw(data, "exponents").texts if t.get_bbox_patch()]
    assert framed == [f"0 + 0 = {block.emax}"]


def test_the_line_stands_after_the_last_place_kept_once_terms_are_lined_up() -> None:
    data, _, _ = parts()
    at = {stage: [x for line in draw(data, stage).lines for x in line.get_xdata()]
          for stage in ("exponents", "alignment")}  # fmt: skip
    assert data["kept"] not in at["exponents"]
    assert at["alignment"] == [data["kept"]] * 2


def test_what_falls_off_is_told_without_colour() -> None:
    data, _, _ = parts()
    assert any(text.get_rotation() for text in draw(data, "cut").texts)
    printed = draw(data)
    assert not any(text.get_rotation() for text in printed.texts)
    lost = sum(not boxed and d == "1" for _, _, d, boxed in digits(printed))
    struck = [line for line in printed.lines if line.get_ydata()[0] - line.get_ydata()[1] == 0.5]
    assert len(struck) >= lost > 0
    assert printed.get_title(loc="left") == WORDS["all"]


def test_right_of_the_line_stands_what_falls_and_then_nothing() -> None:
    data, _, _ = parts()
    beyond = {
        stage: [t.get_rotation() for t in draw(data, stage).texts
                if t.get_text() in ("0", "1") and data["kept"] < t.get_position()[0]]
        for stage in ("cut", "sum")
    }  # fmt: skip
    assert beyond["cut"]
    assert all(beyond["cut"])
    assert beyond["sum"] == []


def test_stages_share_their_axes_and_are_those_of_the_widget() -> None:
    data, _, _ = parts()
    drawn = [draw(data, stage) for stage in [*STAGES, None]]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in drawn}) == 1
    assert len(STAGES) == len(picture().sentences())


def test_a_title_of_its_own_stands_for_that_of_the_stage() -> None:
    data, _, _ = parts()
    titles = [draw(data, *told).get_title(loc="left") for told in [("cut",), ("cut", "V100")]]
    assert titles == [STAGES["cut"], "V100"]


def test_what_cannot_be_drawn_is_refused() -> None:
    data, _, _ = parts()
    with pytest.raises(ValueError, match="stage='add' is none of products"):
        draw(data, "add")
    infinite = BlockPicture(chain(BlockState.of(["inf"], [1], 0, "V100", "fp16", "fp32")), 0)
    with pytest.raises(ValueError, match="no grid"):
        draw(infinite.as_data())


@pytest.mark.parametrize("stage", [*STAGES, None])
def test_nothing_is_cut_off_or_covered_at_the_lettering_of_slides(stage: str | None) -> None:
    data, _, _ = parts()
    with warnings.catch_warnings(), lettering(1.3):
        warnings.simplefilter("error")
        ax = draw(data, stage)
        ax.figure.savefig(io.BytesIO(), format="svg")
    boxes = [(text, text.get_window_extent()) for text in ax.texts if not text.get_rotation()]
    for _, box in boxes:
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.x1
    rows: dict[float, list[Any]] = {}
    for text, box in boxes:
        rows.setdefault(text.get_position()[1], []).append(box)
    for row in rows.values():
        row.sort(key=lambda box: box.x0)
        assert all(a.x1 <= b.x0 for a, b in pairwise(row))


def test_the_picture_stays_small() -> None:
    assert len(figure_html(draw(parts()[0]), "a block")) < 120_000
