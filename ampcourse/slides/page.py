"""Write a deck as one HTML file that loads nothing."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from ampcourse.slides.cells import Cells
from ampcourse.slides.deck import Deck, Slide
from ampcourse.slides.markup import slide_html

STATIC = Path(__file__).parent / "static"


def deck_html(deck: Deck, root: Path) -> str:
    """Return the deck as a page; `root` is the folder of the course.

    Runs the deck's Python. Raises DeckError where that fails.
    """
    cells = Cells(root)
    count = len(deck.slides)
    slides = [
        _section(slide, deck, f"{place} / {count}", cells)
        for place, slide in enumerate(deck.slides, 1)
    ]
    return _PAGE.format(
        title=escape(re.sub(r"[`*$]", "", deck.slides[0].title)),
        css=_read("reveal/reveal.css") + _read("theme.css"),
        licence=_read("reveal/LICENSE"),
        reveal=_script("reveal/reveal.js"),
        notes=_script("reveal/notes.js"),
        deck=_script("deck.js"),
        slides="\n".join(slides),
    )


def _section(slide: Slide, deck: Deck, place: str, cells: Cells) -> str:
    content, notes = slide_html(slide, deck, cells)
    seconds = round(60 * slide.minutes)
    return (
        f'<section class="{slide.kind}" data-timing="{seconds}">\n<div class="slide">\n'
        f'<div class="content">{content}</div>\n'
        f'<p class="foot">{escape(deck.slug)} · {place}</p>\n</div>\n'
        f'<aside class="notes"><p><strong>{slide.minutes:g} min</strong></p>{notes}</aside>\n'
        "</section>"
    )


def _read(name: str) -> str:
    return (STATIC / name).read_text("utf-8")


def _script(name: str) -> str:
    """Return a script as it can stand inside a page: no end tag in it, no map to ask for."""
    text = re.sub(r"//# sourceMappingURL=\S+", "", _read(name))
    return re.sub(r"</(script)", r"<\\/\1", text, flags=re.I)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{css}</style>
</head>
<body>
<main>
<div class="reveal">
<div class="slides">
{slides}
</div>
</div>
</main>
<!-- reveal.js 5.2.1:
{licence}
-->
<script>{reveal}</script>
<script>{notes}</script>
<script>{deck}</script>
</body>
</html>
"""
