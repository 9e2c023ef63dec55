"""What a slide's source becomes: values, formulas, code, figures, and errors with their line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ampcourse.slides.cells import Cells
from ampcourse.slides.deck import Deck, DeckError, Slide
from ampcourse.slides.markup import slide_html
from ampcourse.slides.sources import checked_source

ROOT = Path(__file__).parents[2]
FIGURE = """```python figure
from ampcourse.plotting.scale_history import scale_history
ax = scale_history({{"run": [4.0, 2.0]}})
{call}
```"""


def html(body: str, kind: str = "idea") -> str:
    """Return the content of a slide with this body."""
    slide = Slide("Title", kind, body, "Notes", 1.0, 7)
    return slide_html(slide, Deck(Path("01_deck.md"), (slide,)), Cells(ROOT))[0]


def test_values_come_from_the_decks_own_python() -> None:
    body = "```python setup\nx = 2**16\n```\n\n[[x]] and [[x / 3:.1f]]"
    assert "<p>65536 and 21845.3</p>" in html(body)


def test_a_block_that_is_run_shows_what_it_printed() -> None:
    assert '<pre class="output" tabindex="-1">3 &lt; 4</pre>' in html(
        "```python run\nprint(1 + 2, '<', 4)\n```"
    )


def test_formulas_are_mathml() -> None:
    assert re.search(r"<math [^>]*>.*<msup><mn>2</mn><mi>k</mi></msup>", html("$2^k$"))


def test_bits_get_the_colours_of_their_parts() -> None:
    assert (
        '<code class="bits"><span class="sign">0</span> <span class="exponent">01111</span> '
        '<span class="significand">0000000000</span></code>'
    ) in html("`0 01111 0000000000`")


def test_only_lists_with_a_plus_come_point_by_point() -> None:
    assert html("+ a\n+ b").count('<li class="fragment">') == 2
    assert "fragment" not in html("- a\n- b")


def test_source_html_is_text() -> None:
    assert "<script" not in html("<script src='https://example.org/x.js'></script>")


def test_a_figure_carries_its_words_its_source_and_ids_of_its_own() -> None:
    call = 'figure(ax, alt="a \\"fall\\"", source="computed: ampcourse.amp.loss_scale")\n'
    made = html(FIGURE.format(call=call + call))
    assert made.count('<svg role="img" aria-label="a &quot;fall&quot;"') == 2
    assert made.count("computed: ampcourse.amp.loss_scale</small>") == 2
    ids = re.findall(r'\bid="([^"]+)"', made)
    assert len(ids) == len(set(ids)) > 0
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', made)) <= set(ids)


def test_figures_take_the_slides_colours() -> None:
    made = html(FIGURE.format(call='figure(ax, alt="a", source="computed: math")'))
    assert "var(--blue)" in made
    assert "#0072b2" not in made.lower()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ('figure(ax, alt=" ", source="computed: math")', "says nothing"),
        ('figure(ax, alt="a", source="")', "names no source"),
        ('figure(ax, alt="a", source="computed: ampcourse.nothing")', "there is no ampcourse.noth"),
        ('frames([(ax, "a")], static=(ax, "a"), source="computed: math")', "two or more"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_a_block_does_wrong_is_told_with_the_slide(call: str, told: str) -> None:
    with pytest.raises(DeckError, match=re.escape(told)) as error:
        html(FIGURE.format(call=call))
    assert "01_deck.md, slide of line 7" in str(error.value)


def test_a_block_of_an_unknown_kind_is_told() -> None:
    with pytest.raises(DeckError, match="python figures"):
        html("```python figures\n1\n```")


@pytest.mark.parametrize(
    "source",
    ["computed: ampcourse.decode.decode", "recorded: pyproject.toml", "quoted: IEEE 754-2019"],
)
def test_sources_that_can_be_followed_are_accepted(source: str) -> None:
    assert checked_source(source, ROOT) == source


@pytest.mark.parametrize("source", ["ours", "recorded: nowhere.json", "quoted: a paper", "quoted:"])
def test_sources_that_lead_nowhere_are_not(source: str) -> None:
    with pytest.raises(ValueError, match="source="):
        checked_source(source, ROOT)
