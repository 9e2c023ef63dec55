"""No colour in the project but the style module's, under its name, in light and in dark."""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from matplotlib.colors import CSS4_COLORS

from ampcourse.plotting.style import FORMATS, HUES, PARTS, SURFACES, text_shade

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ampcourse"
PALETTE = {shade for hue in HUES.values() for shade in hue} | {
    colour for surface in SURFACES.values() for colour in surface
}
# File → its colours from elsewhere, and why.
EXCEPTIONS = {
    "ampcourse/courseware/cards.py": (
        {"#2E7D32", "#C62828", "#767676"},
        "stand in for JupyterLab's own colours of success, error and border, where it is missing",
    ),
}
# Not ours: the presentation library as published.
FOREIGN = PACKAGE / "slides" / "static" / "reveal"

STYLED = sorted(
    path
    for ending in ("css", "html", "js", "py")
    for path in PACKAGE.rglob(f"*.{ending}")
    if FOREIGN not in path.parents
)
LESSONS = sorted((ROOT / "notebooks" / "source").glob("*.py"))
DECKS = sorted((ROOT / "slides").glob("*.md"))

# An issue's number after a repository's name, or in a link's text, is no colour.
_HEX = re.compile(r"(?<![\w\[&])#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b", re.I)
_FUNCTION = re.compile(r"\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\(", re.I)
_DECLARATION = re.compile(
    r"(?:color|background|border[\w-]*|outline|fill|stroke|shadow)\s*:\s*([^;}{]+)"
)
_WORD = re.compile(r"(?<![\w.#-])[a-z]+(?![\w.(-])", re.I)
_KEYWORD = re.compile(r"^(c|color|colors|\w*(face|edge|label)color|ecolor|cmap)$")


def colours(text: str) -> set[str]:
    """Return the colours written as numbers."""
    return {colour.upper() for colour in _HEX.findall(text)}


def named(text: str) -> set[str]:
    """Return the names of colours in style declarations."""
    words = {word for value in _DECLARATION.findall(text) for word in _WORD.findall(value)}
    return {word for word in words if word.lower() in CSS4_COLORS}


def given(text: str) -> Iterator[str]:
    """Yield the colours that Python gives to a drawing as text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg and _KEYWORD.match(node.arg):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def offences(paths: list[Path], find: Callable[[str], Iterable[str]]) -> dict[str, set[str]]:
    """Return what is found in each file beyond the palette and the file's exceptions."""
    found = {name(path): set(find(path.read_text("utf-8"))) - PALETTE for path in paths}
    left = {path: some - EXCEPTIONS.get(path, (set(), ""))[0] for path, some in found.items()}
    return {path: some for path, some in left.items() if some}


def test_every_colour_written_as_a_number_is_of_the_palette() -> None:
    assert len(STYLED) > 200
    assert len(LESSONS) >= 15
    assert not offences(STYLED + LESSONS + DECKS, colours)


def test_no_exception_is_left_over() -> None:
    for path, (some, _) in EXCEPTIONS.items():
        assert colours((ROOT / path).read_text("utf-8")) - PALETTE == some


def test_no_style_sheet_mixes_a_colour_or_names_one_of_the_browsers() -> None:
    sheets = [path for path in STYLED if path.suffix != ".py"]
    assert not offences(sheets, _FUNCTION.findall)
    assert not offences(STYLED, named)


def test_no_drawing_is_given_a_colour_as_text() -> None:
    programs = [path for path in STYLED + LESSONS if path.suffix == ".py"]
    assert not offences(programs, lambda text: set(given(text)) - {"none"})


def test_no_deck_gives_a_drawing_a_colour_as_text() -> None:
    def in_blocks(text: str) -> set[str]:
        code = re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.M | re.S)
        return {colour for part in code for colour in given(part)}

    assert not offences(DECKS, in_blocks)


def test_no_figure_in_a_built_lesson_has_another_colour() -> None:
    found = {}
    for path in sorted((ROOT / "notebooks" / "instructor").glob("*.ipynb")):
        figures = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", path.read_text("utf-8"))
        drawn = [base64.b64decode(figure).decode() for figure in figures]
        # "#m1a2b3c" in a reference is an id, not a colour.
        found[path.name] = {c.upper() for svg in drawn for c in re.findall(r": (#\w+)", svg)}
    assert sum(map(bool, found.values())) > 10
    assert not {path: left for path, some in found.items() if (left := some - PALETTE)}


def test_a_colour_is_found_in_each_way_of_writing_it() -> None:
    text = "a: #abc; b: #A1B2C3; c: rgb(1 2 3); d: #123456; e: oklch(1 0 0); f: #a1b2c3d4"
    assert colours(text) == {"#ABC", "#A1B2C3", "#123456", "#A1B2C3D4"}
    assert _FUNCTION.findall(text) == ["rgb(", "oklch("]
    assert named("a { border: 1px solid red; color: var(--white); background: White }") == {
        "red",
        "White",
    }
    assert list(given('ax.plot(x, color="C0", ls=":"); ax.bar(x, edgecolor="k")')) == ["C0", "k"]


def test_an_issues_number_is_no_colour() -> None:
    assert not colours("(pytorch#165068), [#112583](https://…), &#8209;, # 123456, #1")


def variables(path: str, start: str) -> dict[str, str]:
    """Return the colours of the rule that begins with `start`, by variable."""
    text = (PACKAGE / path).read_text("utf-8")
    rule = text[text.index(start) :].split("}")[0]
    return {key: value.upper() for key, value in re.findall(r"--([\w-]+): (#\w+)", rule)}


def of(names: dict[str, str], place: int) -> dict[str, str]:
    """Return a variable's colour by the name of its surface or hue, light (0) or dark (1)."""
    text = {key: hue.dark if place else hue.text for key, hue in HUES.items()}
    looks = text | {key: both[place] for key, both in SURFACES.items()}
    return {variable: looks[key] for variable, key in names.items()}


@pytest.mark.parametrize(("place", "theme"), [(0, "light"), (1, "dark")])
def test_decks_have_the_palette_of_figures(place: int, theme: str) -> None:
    found = variables("slides/static/theme.css", f':root[data-theme="{theme}"] {{')
    texts = {f"{key}-text": key for key in HUES if key != "ink"}
    expected = of(dict.fromkeys(SURFACES, "") | {key: key for key in SURFACES} | texts, place)
    expected |= {key: hue.dark if place else hue.light for key, hue in HUES.items()}
    assert found == expected


@pytest.mark.parametrize(
    ("place", "start"),
    [(0, ".amp,\n.amp-explorer {"), (1, '[data-jp-theme-light="false"] .amp,')],
)
def test_widgets_have_the_palette_of_figures_in_the_shades_for_text(place: int, start: str) -> None:
    hues = {hue.light: key for key, hue in HUES.items()}
    names = {f"amp-{key}": hues[colour] for key, colour in PARTS.items()}
    names |= {f"amp-{key}": hues[FORMATS[key]] for key in ("fp32", "fp16", "bf16")}
    names |= {"amp-on-fill": "paper", "amp-border": "edge"}
    assert variables("widgets/static/theme.css", start) == of(names, place)


@pytest.mark.parametrize(("place", "start"), [(0, ":root {"), (1, "dark) {\n  :root {")])
def test_class_pages_have_the_palette_of_figures(place: int, start: str) -> None:
    names = {"ink": "ink", "soft": "grey", "paper": "paper", "panel": "panel", "line": "rule"}
    names |= {"link": "blue", "full": "green", "part": "blue", "none": "vermillion"}
    names |= {"blank": "grey"}
    assert variables("classroom/templates/base.html", start) == of(names, place)


def test_a_format_has_one_colour_in_the_type_grid_and_in_the_type_flow() -> None:
    from ampcourse.plotting.type_grid import CELLS

    widgets = variables("widgets/static/theme.css", ".amp,\n")
    rules = (PACKAGE / "widgets" / "static" / "type_flow.css").read_text("utf-8")
    assert (
        {key: widgets[f"amp-{key}"] for key in CELLS}
        == {key: text_shade(FORMATS[key]) for key in CELLS}
        == dict(CELLS)
    )
    for cue, colour in (("wide", "fp32"), ("narrow", "narrow")):
        assert f".amp-type.amp-{cue} {{ color: var(--amp-{colour})" in rules
    assert "--amp-narrow: var(--amp-fp16)" in rules
    assert '[data-lower="bfloat16"] { --amp-narrow: var(--amp-bf16)' in rules


def test_the_page_about_the_look_has_the_palette_and_is_linked() -> None:
    page = (ROOT / ".github" / "STYLE.md").read_text("utf-8")
    rows = [re.findall(r"#[0-9A-F]{6}", line) for line in page.splitlines()]
    names = re.findall(r"^\| (\w+) \|(?=.*`#)", page, re.M)
    listed = dict(zip(names, map(tuple, filter(None, rows)), strict=True))
    assert listed == {key: tuple(hue) for key, hue in HUES.items()} | dict(SURFACES)
    assert "[STYLE.md](STYLE.md)" in (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")


def test_the_page_gives_each_part_and_format_its_colour() -> None:
    page = (ROOT / ".github" / "STYLE.md").read_text("utf-8")
    hues = {hue.light: key for key, hue in HUES.items()}
    head, parts, formats = (
        [cell.strip() for cell in re.findall(r"\|([^|\n]*)(?=\|)", line)]
        for line in re.findall(r"^\| (?:\| vermillion|a part|a format).*$", page, re.M)
    )
    for key, colour in PARTS.items():
        assert parts[head.index(hues[colour])] == key
    words = {"E5M2": "e5m2", "E4M3": "e4m3", "FP6": "e3m2", "FP4": "e2m1"}
    for place, cell in enumerate(formats[1:], 1):
        for word in re.findall(r"\w*\d\w*", cell.replace("FP8", "")):
            assert hues[FORMATS[words.get(word, word.lower())]] == head[place], word


def test_the_parts_of_a_float_have_the_same_second_cue_on_a_slide_and_in_the_explorer() -> None:
    deck = (PACKAGE / "slides/static/theme.css").read_text("utf-8")
    widget = (PACKAGE / "widgets/static/explorer.css").read_text("utf-8")
    cues = {}
    for part in PARTS:
        (rule,) = re.findall(rf"^\.bits \.{part} {{([^}}]*)}}", deck, re.M)
        (field,) = re.findall(rf"^\.amp-field-{part} {{([^}}]*)}}", widget, re.M)
        kinds = [re.findall(r"border(?:-bottom)?-style: (\w+)", text) for text in (rule, field)]
        cues[part] = [kind or ["solid"] for kind in kinds]  # as both rules' common border is
    assert all(one == other for one, other in cues.values())
    assert len({kind for (kind,), _ in cues.values()}) == len(PARTS)
