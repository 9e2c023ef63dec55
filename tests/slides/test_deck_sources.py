"""What a deck has: the parts of a lesson, or of the course, and numbers that were computed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from ampcourse.courseware.course import find_course
from ampcourse.slides.command import FIRST_HOUR
from ampcourse.slides.deck import Deck, Slide, read_deck
from tests.slides.decks import DECKS, LESSONS, ROOT

NEEDED = {"title", "question", "prediction", "picture", "number", "wrong", "tasks"}
# A number that somebody measured or worked out: three digits and more, or a decimal fraction.
# Names of lessons and types, powers, and what is quoted with its source do not count.
_CODE = re.compile(r"```.*?^```|`[^`]*`|\$[^$]*\$|\[\[.*?\]\]|\[[^\]]*\]\([^)]*\)", re.S | re.M)
_NUMBER = re.compile(r"(?<![\w#.-])\d{1,3}(?:[ ,]?\d{3})+(?![\w-])|\d+\.\d+|(?<![\w#.-])\d{3,}\b")
_CITED = re.compile(r"IEEE 754|Source:|https://|articles? this course grew from")
# The first hour's slide about a lesson: its number leads the title.
_ABOUT = re.compile(r"(?P<number>\d\d) · ")
_DRAWN = re.compile(r"from ampcourse\.plotting\.(?P<module>\w+) import (?P<names>[\w, ]+)")
_BOLD_NUMBER = re.compile(r"\*\*[^*\n]*\d[^*\n]*\*\*")


@pytest.fixture(params=DECKS, ids=lambda path: path.stem)
def deck(request: pytest.FixtureRequest) -> Deck:
    """Return a deck as it stands in its source."""
    return read_deck(request.param)


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem)
def lessons_deck(request: pytest.FixtureRequest) -> Deck:
    """Return the deck of a lesson."""
    return read_deck(request.param)


@pytest.fixture
def first_hour() -> Deck:
    """Return the deck for the teacher's first hour."""
    return read_deck(ROOT / "slides" / f"{FIRST_HOUR}.md")


def test_it_is_a_lessons_deck(lessons_deck: Deck) -> None:
    assert lessons_deck.slug in find_course(ROOT).slugs


def test_it_takes_half_an_hour_and_12_to_20_slides(lessons_deck: Deck) -> None:
    assert 12 <= len(lessons_deck.slides) <= 20
    assert 25 <= lessons_deck.minutes <= 35


def test_it_has_the_parts_of_a_lesson(lessons_deck: Deck) -> None:
    kinds = [slide.kind for slide in lessons_deck.slides]
    assert set(kinds) >= NEEDED
    assert kinds[0] == "title"
    assert kinds[-1] == "tasks"
    assert kinds.index("prediction") < kinds.index("picture")
    assert kinds.count("number") == 1


def test_the_hand_over_names_the_lessons_tasks_and_no_other(lessons_deck: Deck) -> None:
    lesson = find_course(ROOT).lesson(lessons_deck.slug)
    named = set(re.findall(r"t\d\d_\d", lessons_deck.slides[-1].body))
    assert named == {task.id for task in lesson.tasks}


def test_numbers_are_computed_or_cited(deck: Deck) -> None:
    assert {slide.title: typed(slide) for slide in deck.slides if typed(slide)} == {}


def test_every_slide_has_something_to_say_and_ask(deck: Deck) -> None:
    assert [slide.title for slide in deck.slides if len(slide.notes.split()) < 6] == []
    asked = [slide for slide in deck.slides if re.search(r"\bask|\?|hands", slide.notes, re.I)]
    assert len(asked) >= len(deck.slides) // 3


def test_the_first_hour_is_20_slides_that_leave_time_for_questions(first_hour: Deck) -> None:
    assert len(first_hour.slides) == 20
    assert 45 <= first_hour.minutes <= 60


def test_the_first_hour_asks_first_and_hands_over_last(first_hour: Deck) -> None:
    kinds = [slide.kind for slide in first_hour.slides]
    assert kinds[:3] == ["title", "question", "prediction"]
    assert kinds[-1] == "tasks"


def test_the_first_hour_has_a_slide_about_each_lesson_in_order(first_hour: Deck) -> None:
    numbers = [slug[:2] for slug in find_course(ROOT).slugs]
    assert list(about(first_hour)) == numbers[1:]
    for slug in find_course(ROOT).slugs[:2]:
        assert slug in first_hour.slides[-1].body, "the hand-over says what to open"


def test_the_first_hour_shows_each_lessons_own_picture_and_one_number(first_hour: Deck) -> None:
    everything = {name for number in about(first_hour) for name in drawn(number)}
    for number, slide in about(first_hour).items():
        used = functions(slide.body)
        assert used, f"{slide.title}: no picture"
        assert used <= (drawn(number) or everything), f"{slide.title}: not a picture of the lesson"
        bold = _BOLD_NUMBER.findall(without_code(slide.body))
        assert len(bold) == 1, f"{slide.title}: {len(bold)} numbers in bold, one to remember"


def about(deck: Deck) -> dict[str, Slide]:
    """Return the slides about a lesson by its number."""
    found = {}
    for slide in deck.slides:
        if heading := _ABOUT.match(slide.title):
            found[heading["number"]] = slide
    return found


def functions(text: str) -> set[str]:
    """Return the drawing functions that a text imports, with their modules."""
    return {
        f"{line['module']}.{name.split(' as ')[0].strip()}"
        for line in _DRAWN.finditer(text)
        for name in line["names"].split(",")
    }


@cache
def drawn(number: str) -> frozenset[str]:
    """Return the drawing functions of a lesson and of its deck."""
    sources = [*ROOT.glob(f"notebooks/source/{number}_*.py"), *ROOT.glob(f"slides/{number}_*.md")]
    return frozenset().union(*(functions(path.read_text("utf-8")) for path in sources))


def without_code(body: str) -> str:
    """Return a slide's text without its blocks of Python, 0 for each computed value."""
    return re.sub(r"\[\[.*?\]\]", "0", re.sub(r"```.*?^```", " ", body, flags=re.S | re.M))


def typed(slide: Slide) -> list[str]:
    """Return the numbers of a slide that neither code computed nor a source is named for."""
    text = f"{slide.title}\n{slide.body}"
    return [] if _CITED.search(text) else _NUMBER.findall(_CODE.sub(" ", text))


def test_a_typed_number_is_found() -> None:
    slide = Slide("A", "idea", "FP16 ends at 65504, `65504` and $2^{16}$, [[x]].", "", 1.0, 1)
    assert typed(slide) == ["65504"]


def test_a_lessons_drawing_functions_are_found() -> None:
    text = "from ampcourse.plotting.a import b, c as d\nfrom ampcourse.plotting import show\n"
    assert functions(text) == {"a.b", "a.c"}
    assert "number_line.gaps" in drawn("01")


def test_no_built_deck_is_committed() -> None:
    assert [path.name for path in Path(ROOT / "slides").iterdir() if path.suffix != ".md"] == []
