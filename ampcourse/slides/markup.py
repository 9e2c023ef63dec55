"""Write a slide: Markdown, formulas as MathML, code in colour, the figures it draws."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from ampcourse.plotting.style import PARTS
from ampcourse.slides.cells import Cells
from ampcourse.slides.deck import Deck, DeckError, Slide

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```[ \t]*$", re.S | re.M)
_BITS = re.compile(r"[01] [01]+ [01]+")
#: What a block of Python can be: shown, run silently, run for its figures, shown and run.
BLOCKS = ("python", "python setup", "python figure", "python run")


def slide_html(slide: Slide, deck: Deck, cells: Cells) -> tuple[str, str]:
    """Return a slide's content and its notes as HTML, running its Python on the way.

    Raises DeckError, with the slide's line, for whatever its Python raises and for a block that
    is none of `BLOCKS`.
    """
    try:
        body = "\n".join(_pieces(slide.body, cells))
        notes = markdown().render(cells.filled_in(slide.notes))
        title = markdown().renderInline(cells.filled_in(slide.title))
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise DeckError(f"{deck.path.name}, slide of line {slide.line}: {what}") from error
    level = "h1" if slide.kind == "title" else "h2"
    return f"<{level}>{title}</{level}>\n{body}", notes


def _pieces(body: str, cells: Cells) -> Iterator[str]:
    """Yield the parts of a slide: text, block, text, in the order in which they run."""
    end = 0
    for fence in _FENCE.finditer(body):
        yield markdown().render(cells.filled_in(body[end : fence.start()]))
        yield _block(fence["info"].strip(), fence["code"], cells)
        end = fence.end()
    yield markdown().render(cells.filled_in(body[end:]))


def _block(info: str, code: str, cells: Cells) -> str:
    if info == "python setup":
        cells.run(code)
        return ""
    if info == "python figure":
        return cells.run(code)
    if info == "python run":
        printed = cells.output(code).rstrip()
        return f'{_coloured(code)}<pre class="output" tabindex="-1">{escape(printed)}</pre>'
    if info == "python":
        return _coloured(code)
    raise ValueError(f"a block {info!r}; there are {', '.join(BLOCKS)}")


def _coloured(code: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    inner = highlight(code.rstrip(), PythonLexer(), HtmlFormatter(nowrap=True)).rstrip()
    return f'<pre class="code">{inner}</pre>'


@cache
def markdown() -> MarkdownIt:
    """Return the Markdown reader: no HTML in the source, tables, `$...$`, steps as `+` lists."""
    from latex2mathml.converter import convert
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    def formula(content: str, options: dict[str, Any]) -> str:
        display = "block" if options["display_mode"] else "inline"
        return str(convert(content, display=display))

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.use(dollarmath_plugin, renderer=formula, double_inline=True)
    reader.add_render_rule("list_item_open", _list_item)
    reader.add_render_rule("code_inline", _code)
    return reader


def _code(_: Any, tokens: Any, index: int, *__: Any) -> str:
    """Code; the bits of a float, such as `0 01111 0000000000`, get the colours of their parts."""
    content = tokens[index].content
    if not _BITS.fullmatch(content):
        return f"<code>{escape(content)}</code>"
    parts = zip(PARTS, content.split(), strict=True)
    spans = " ".join(f'<span class="{part}">{bits}</span>' for part, bits in parts)
    return f'<code class="bits">{spans}</code>'


def _list_item(_: Any, tokens: Any, index: int, *__: Any) -> str:
    """A list written with `+` comes point by point; one written with `-` stands there at once."""
    return '<li class="fragment">' if tokens[index].markup == "+" else "<li>"
