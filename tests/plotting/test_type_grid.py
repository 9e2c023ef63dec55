"""The grid of types shows each format where it was given, and leaves the rest empty."""

import re
from pathlib import Path

from matplotlib.colors import to_hex

import ampcourse
from ampcourse.plotting import figure_html
from ampcourse.plotting.type_grid import CELLS, type_grid

STATIC = Path(ampcourse.__file__).parent / "widgets" / "static"
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


def test_formats_have_colours_of_their_own_and_other_text_has_none() -> None:
    ax = type_grid({"O1": {"a": "fp32", "b": "fp16", "c": "bf16", "d": "none"}})
    fills = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert fills == [CELLS[name][0].lower() for name in ("fp32", "fp16", "bf16")] + ["#ffffff"]
    assert len(set(fills)) == 4


def test_fp32_and_fp16_have_the_colours_of_the_type_flow_widget() -> None:
    theme = (STATIC / "theme.css").read_text("utf-8").lower()
    rules = (STATIC / "type_flow.css").read_text("utf-8")
    for name, dot in (("fp32", "wide"), ("fp16", "narrow")):
        (part,) = re.findall(rf"\.amp-type\.amp-{dot} {{ color: var\((--amp-\w+)\)", rules)
        assert f"{part}: {CELLS[name][0].lower()};" in theme


def test_the_figure_becomes_html_with_its_alt_text() -> None:
    assert 'alt="types"' in figure_html(type_grid(COLUMNS), "types")
