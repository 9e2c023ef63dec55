"""What every deck has: half an hour, the parts of a lesson, numbers that were computed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ampcourse.courseware.course import find_course
from ampcourse.slides.deck import Deck, Slide, read_deck
from tests.slides.decks import DECKS, ROOT

NEEDED = {"title", "question", "prediction", "picture", "number", "wrong", "tasks"}
# A number that somebody measured or worked out: three digits and more, or a decimal fraction.
# Names of lessons and types, powers, and what is quoted with its source do not count.
_CODE = re.compile(r"```.*?^```|`[^`]*`|\$[^$]*\$|\[\[.*?\]\]|\[[^\]]*\]\([^)]*\)", re.S | re.M)
_NUMBER = re.compile(r"(?<![\w#.-])\d{1,3}(?:[ ,]?\d{3})+(?![\w-])|\d+\.\d+|(?<![\w#.-])\d{3,}\b")
_CITED = re.compile(r"IEEE 754|Source:|https://|articles? this course grew from")


@pytest.fixture(params=DECKS, ids=lambda path: path.stem)
def deck(request: pytest.FixtureRequest) -> Deck:
    """Return a deck as it stands in its source."""
    return read_deck(request.param)


def test_it_is_a_lessons_deck(deck: Deck) -> None:
    assert deck.slug in find_course(ROOT).slugs


def test_it_takes_half_an_hour_and_12_to_20_slides(deck: Deck) -> None:
    assert 12 <= len(deck.slides) <= 20
    assert 25 <= deck.minutes <= 35


def test_it_has_the_parts_of_a_lesson(deck: Deck) -> None:
    kinds = [slide.kind for slide in deck.slides]
    assert set(kinds) >= NEEDED
    assert kinds[0] == "title"
    assert kinds[-1] == "tasks"
    assert kinds.index("prediction") < kinds.index("picture")
    assert kinds.count("number") == 1


def test_the_hand_over_names_the_lessons_tasks_and_no_other(deck: Deck) -> None:
    lesson = find_course(ROOT).lesson(deck.slug)
    named = set(re.findall(r"t\d\d_\d", deck.slides[-1].body))
    assert named == {task.id for task in lesson.tasks}


def test_numbers_are_computed_or_cited(deck: Deck) -> None:
    assert {slide.title: typed(slide) for slide in deck.slides if typed(slide)} == {}


def test_every_slide_has_something_to_say_and_ask(deck: Deck) -> None:
    assert [slide.title for slide in deck.slides if len(slide.notes.split()) < 6] == []
    asked = [slide for slide in deck.slides if re.search(r"\bask|\?|hands", slide.notes, re.I)]
    assert len(asked) >= len(deck.slides) // 3


def typed(slide: Slide) -> list[str]:
    """Return the numbers of a slide that neither code computed nor a source is named for."""
    text = f"{slide.title}\n{slide.body}"
    return [] if _CITED.search(text) else _NUMBER.findall(_CODE.sub(" ", text))


def test_a_typed_number_is_found() -> None:
    slide = Slide("A", "idea", "FP16 ends at 65504, `65504` and $2^{16}$, [[x]].", "", 1.0, 1)
    assert typed(slide) == ["65504"]


def test_no_built_deck_is_committed() -> None:
    assert [path.name for path in Path(ROOT / "slides").iterdir() if path.suffix != ".md"] == []
