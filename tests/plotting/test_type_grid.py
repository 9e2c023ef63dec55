"""The grid of types shows each format where it was given, and leaves the rest empty."""

from matplotlib.colors import to_hex

from ampcourse.plotting import figure_html
from ampcourse.plotting.style import CARD, FORMATS, text_shade
from ampcourse.plotting.type_grid import type_grid

COLUMNS = {
    "O1": {"weights": "fp32", "output": "fp16"},
    "O9": {"weights": "refused", "scale": "128"},
}


def texts(columns: dict[str, dict[str, str]]) -> dict[tuple[int, int], str]:
    """Return the text of each cell by column and row; headings are in row -1."""
    found = type_grid(columns).texts
    return {(int(t.get_position()[0]), int(t.get_position()[1] // 1)): t.get_text() for t in found}


def test_each_cell_says_what_its_column_has_in_its_row() -> None:
    assert texts(COLUMNS) == {
        (0, -1): "O1",
        (0, 0): "fp32",
        (0, 1): "fp16",
        (1, -1): "O9",
        (1, 0): "refused",
        (1, 2): "128",
    }


def test_rows_are_those_of_all_columns_from_top_to_bottom() -> None:
    ax = type_grid(COLUMNS)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["weights", "output", "scale"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_formats_have_their_colours_and_other_text_has_none() -> None:
    ax = type_grid({"O1": {"a": "fp32", "b": "fp16", "c": "bf16", "d": "none"}})
    fills = [to_hex(patch.get_facecolor()).upper() for patch in ax.patches]
    formats = [text_shade(FORMATS[name]) for name in ("fp32", "fp16", "bf16")]
    assert fills == [*formats, CARD]
    assert len(set(fills)) == 4
    assert [to_hex(text.get_color()).upper() for text in ax.texts[1:4]] == [CARD] * 3


def test_the_figure_becomes_html_with_its_alt_text() -> None:
    assert 'alt="types"' in figure_html(type_grid(COLUMNS), "types")
