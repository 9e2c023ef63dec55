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

#: The one deck that belongs to no lesson: the course as its teacher shows it first.
FIRST_HOUR = "first_hour"


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
    """Return the decks that `names` mean, lesson numbers or full names; all for no names.

    The lessons' decks come in their order, `FIRST_HOUR` behind them. Raises DeckError for a name
    that no deck has, and where there are no decks.
    """
    folder = root / "slides"
    lessons = sorted(folder.glob("[0-9][0-9]_*.md"))
    decks = [*lessons, *folder.glob(f"{FIRST_HOUR}.md")]
    if not decks:
        raise DeckError(f"no decks in {folder}: building slides needs a clone")
    called = {path.stem: path for path in decks} | {path.stem[:2]: path for path in lessons}
    if unknown := [name for name in names if name not in called]:
        told = ", ".join(path.stem for path in decks)
        raise DeckError(f"no deck {unknown[0]!r}; there are: {told}")
    return [called[name] for name in names] or decks


def _counted(deck: Deck, pdf: Path, pages: int) -> None:
    if pages != len(deck.slides):
        raise OSError(f"{pdf.name} has {pages} pages for {len(deck.slides)} slides")
    print(f"{pdf}: {pages} pages", flush=True)
