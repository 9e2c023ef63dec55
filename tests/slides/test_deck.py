"""Reading a deck's source: what a slide is, and what an author is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ampcourse.slides.deck import DeckError, read_deck

SOURCE = """# Title {title}

Hello

Notes (1.5 min):
Say hello.

# A block

```python
# no slide begins here
Notes (9 min):
```

Notes (2 min):
Look at it.
"""


def written(tmp_path: Path, text: str) -> Path:
    """Return a deck's file with this text."""
    path = tmp_path / "01_deck.md"
    path.write_text(text, "utf-8")
    return path


def test_a_slide_is_a_heading_a_kind_text_and_timed_notes(tmp_path: Path) -> None:
    deck = read_deck(written(tmp_path, SOURCE))
    first, second = deck.slides
    assert (first.title, first.kind, first.body, first.minutes) == ("Title", "title", "Hello", 1.5)
    assert (second.kind, second.notes, second.line) == ("idea", "Look at it.", 8)
    assert (deck.slug, deck.minutes) == ("01_deck", 3.5)


def test_headings_and_notes_inside_a_block_are_code(tmp_path: Path) -> None:
    assert (
        "# no slide begins here\nNotes (9 min):"
        in read_deck(written(tmp_path, SOURCE)).slides[1].body
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Text first\n# Title\n\nNotes (1 min):\n", "begins with its title"),
        ("# Title {cover}\n\nNotes (1 min):\n", "line 1: {cover} is no kind of slide"),
        ("# Title {title}\n\nNo notes\n", "line 1: no speaker notes"),
        ("# Title\n\n```python\n1\n", "does not end with ```"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DeckError) as error:
        read_deck(written(tmp_path, text))
    assert told in str(error.value)
    assert "01_deck.md" in str(error.value)
