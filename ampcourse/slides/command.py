"""`ampcourse slides`: build decks, print them, open the first."""

from __future__ import annotations

import argparse
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from ampcourse.courseware.course import find_course
from ampcourse.slides.deck import Deck, DeckError, read_deck
from ampcourse.slides.page import deck_html
from ampcourse.slides.pdf import print_pdf


def run(options: argparse.Namespace) -> int:
    """Build the decks asked for; 0, or an error that names the slide."""
    root = find_course().root
    paths = select(root, options.decks)
    out = options.out or root / "build" / "slides"
    pages = []
    for path in paths:
        deck = read_deck(path)
        pages.append(build(deck, root, out))
        if options.pdf:
            pdf = pages[-1].with_suffix(".pdf")
            _counted(deck, pdf, print_pdf(pages[-1].resolve(), pdf.resolve()))
    if options.open:
        webbrowser.open(pages[0].resolve().as_uri())
    return 0


def build(deck: Deck, root: Path, out: Path) -> Path:
    """Write a deck's page into the folder `out` and return its path."""
    out.mkdir(parents=True, exist_ok=True)
    page = out / f"{deck.slug}.html"
    page.write_text(deck_html(deck, root), "utf-8")
    print(f"{page}: {len(deck.slides)} slides, {deck.minutes:g} minutes", flush=True)
    return page


def select(root: Path, names: Sequence[str]) -> list[Path]:
    """Return the decks that `names` mean, numbers or full names; all for no names."""
    decks = sorted((root / "slides").glob("[0-9][0-9]_*.md"))
    chosen = []
    for name in names:
        found = [path for path in decks if name in (path.stem, path.stem[:2])]
        if not found:
            told = ", ".join(path.stem for path in decks) or "none"
            raise DeckError(f"no deck {name!r}; there are: {told}")
        chosen += found
    if not decks:
        raise DeckError(f"no decks in {root / 'slides'}: building slides needs a clone")
    return chosen or decks


def _counted(deck: Deck, pdf: Path, pages: int) -> None:
    if pages != len(deck.slides):
        raise OSError(f"{pdf.name} has {pages} pages for {len(deck.slides)} slides")
    print(f"{pdf}: {pages} pages", flush=True)
