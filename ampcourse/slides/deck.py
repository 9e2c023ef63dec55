"""Read a deck's source: slides, what kind each is, and what the teacher says to it.

A slide begins with a heading of level one, `# What it says`, and may name its kind behind it:
`# Bet first {prediction}`. The first slide is the title. A line `Notes (2 min):` begins the
speaker notes, which go on to the end of the slide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: What a slide can be for; a slide without a name is an "idea".
KINDS = ("title", "question", "prediction", "picture", "idea", "number", "wrong", "tasks")
_HEADING = re.compile(r"# (?P<title>.+?)(?:\s*\{(?P<kind>\w+)\})?\s*$")
_NOTES = re.compile(r"Notes \((?P<minutes>\d+(?:\.\d+)?) min\):\s*$")


class DeckError(ValueError):
    """A deck that cannot be built; the text names the file, the line and what to try."""


@dataclass(frozen=True)
class Slide:
    """One slide as it stands in the source; `line` is that of its heading."""

    title: str
    kind: str
    body: str
    notes: str
    minutes: float
    line: int


@dataclass(frozen=True)
class Deck:
    """A deck's slides, in order."""

    path: Path
    slides: tuple[Slide, ...]

    @property
    def slug(self) -> str:
        """The lesson's name, `NN_slug`."""
        return self.path.stem

    @property
    def minutes(self) -> float:
        """How long it takes to give, by its notes."""
        return sum(slide.minutes for slide in self.slides)


def read_deck(path: Path) -> Deck:
    """Read a deck's source.

    Raises DeckError for text before the first heading, a kind that is none of `KINDS`, a slide
    without notes, a fence that does not end; OSError where there is no file.
    """
    lines = path.read_text("utf-8").splitlines()
    starts = [number for number, line in _outside_fences(lines, path) if _HEADING.match(line)]
    if not starts or any(line.strip() for line in lines[: starts[0]]):
        raise DeckError(f"{path.name}: a deck begins with its title, a line such as '# Title'")
    ends = [*starts[1:], len(lines)]
    slides = [
        _slide(lines[start:end], start + 1, path) for start, end in zip(starts, ends, strict=True)
    ]
    return Deck(path, tuple(slides))


def _slide(lines: list[str], number: int, path: Path) -> Slide:
    heading = _HEADING.match(lines[0])
    assert heading
    kind = heading["kind"] or "idea"
    where = f"{path.name}, line {number}"
    if kind not in KINDS:
        raise DeckError(f"{where}: {{{kind}}} is no kind of slide; there are {', '.join(KINDS)}")
    for place, line in _outside_fences(lines, path):
        if notes := _NOTES.match(line):
            return Slide(
                title=heading["title"],
                kind=kind,
                body="\n".join(lines[1:place]).strip(),
                notes="\n".join(lines[place + 1 :]).strip(),
                minutes=float(notes["minutes"]),
                line=number,
            )
    raise DeckError(f"{where}: no speaker notes; end the slide with 'Notes (2 min):' and the text")


def _outside_fences(lines: list[str], path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines, numbered from 0, that do not lie in a fenced block."""
    opened = -1
    for number, line in enumerate(lines):
        if line.startswith("```"):
            opened = number if opened < 0 else -1
        elif opened < 0:
            yield number, line
    if opened >= 0:
        raise DeckError(f"{path.name}: the block {lines[opened]!r} does not end with ```")
