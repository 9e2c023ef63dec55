"""The decks that exist, built once a session, and a browser that refuses the network."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ampcourse.slides.command import FIRST_HOUR, build, select
from ampcourse.slides.deck import Deck, read_deck

ROOT = Path(__file__).parents[2]
DECKS = select(ROOT, [])
LESSONS = [path for path in DECKS if path.stem != FIRST_HOUR]


@cache
def built(path: Path, out: Path) -> tuple[Deck, Path]:
    """Return a deck and its page, built into `out`."""
    deck = read_deck(path)
    return deck, build(deck, ROOT, out)
