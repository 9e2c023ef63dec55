"""The teacher's page says what the lessons, the decks, the checks and the grader say."""

import re
from pathlib import Path

import pytest

from tests.test_readme import images, links, local

pytest.importorskip("jupytext", reason="needs the lab extra")

from ampcourse.courseware.course import find_course
from ampcourse.slides.deck import read_deck
from tests.test_troubleshooting import spoken

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "notebooks" / "TEACHING.md"
TEXT = PAGE.read_text("utf-8")
COURSE = find_course(ROOT)
#: What the lessons say about their time, in minutes: from, to.
MINUTES = {
    "about fifteen minutes": (15, 15),
    "about an hour": (60, 60),
    "an hour": (60, 60),
    "an hour, or a little more": (60, 60),
    "about 70 minutes": (70, 70),
    "an hour and a half": (90, 90),
    "two hours": (120, 120),
    "about two hours": (120, 120),
    "two to three hours": (120, 180),
    "two and a half hours": (150, 150),
}
SESSION, DECK = 90, 30  # minutes


def table(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    part = re.split(rf"^#+ {re.escape(heading)}$", TEXT, flags=re.M)[1]
    lines = part[part.index("\n|") :].split("\n\n")[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines[2:]]


TIMES = {row[0]: row[1:] for row in table("How long it takes")}


def opening(slug: str) -> str:
    """Return what a lesson says before its predictions, on one line."""
    text = (ROOT / "notebooks" / "source" / f"{slug}.py").read_text("utf-8")
    return " ".join(re.split("## Predict first|### t", text)[0].replace("`", "").split())


def test_every_lesson_has_its_row() -> None:
    assert list(TIMES) == [slug[:2] for slug in COURSE.slugs]


@pytest.mark.parametrize("slug", COURSE.slugs)
def test_a_lesson_takes_what_it_says_itself(slug: str) -> None:
    takes, pause, needed = TIMES[slug[:2]]
    assert takes in MINUTES
    assert re.search(rf"\b{takes}[ ,;.]", opening(slug), re.I)
    if pause:
        assert re.search(r"break|pause|sittings", opening(slug))
    tasks = {task.id for task in COURSE.lesson(slug).tasks}
    assert set(re.findall(r"t\d\d_\d", pause)) <= tasks
    named = {name[:2] for name in re.findall(r"\b\d\d_[a-z]\w+", opening(slug))}
    assert named <= set(re.findall(r"\d\d", needed))
    assert all(earlier < slug[:2] for earlier in re.findall(r"\d\d", needed))


def hours(minutes: int) -> str:
    return f"{minutes / 60:.1f}".removesuffix(".0")


def test_eight_sessions_hold_every_lesson_and_leave_for_home_what_is_left() -> None:
    rows = table("Eight sessions")
    assert len(rows) == 8
    assert [number for row in rows for number in row[1].split(", ")] == list(TIMES)
    for _, lessons, begun, home in rows:
        numbers = lessons.split(", ")
        for task in re.findall(r"t(\d\d)_\d", begun):
            assert task in numbers
        free = SESSION - DECK * len(numbers)
        low, high = (
            sum(MINUTES[TIMES[number][0]][end] for number in numbers) - free for end in (0, 1)
        )
        assert home == (hours(low) if low == high else f"{hours(low)} to {hours(high)}")


def test_the_one_session_is_three_hours_of_things_that_take_that_long() -> None:
    rows = {what: int(time.removesuffix(" min")) for time, what in table("One session")}
    assert sum(rows.values()) == 180
    by_lesson = {
        number: minutes
        for what, minutes in rows.items()
        for number in re.findall(r"^lesson (\d\d)", what)
    }
    assert by_lesson == {number: MINUTES[TIMES[number][0]][0] for number in ("00", "06")}
    first = next(minutes for what, minutes in rows.items() if "`first_hour`" in what)
    deck = read_deck(ROOT / "slides" / "first_hour.md")
    assert deck.minutes <= first
    assert len(deck.slides) == 20


def test_every_lesson_has_its_deck_and_there_is_one_for_the_first_hour() -> None:
    decks = sorted(path.stem for path in (ROOT / "slides").glob("*.md"))
    assert decks == [*COURSE.slugs, "first_hour"]
    assert "Every lesson has a deck of half an hour" in TEXT
    assert set(re.findall(r"deck (\d\d)", TEXT)) <= set(TIMES)


def test_where_people_get_stuck_is_what_a_wrong_answer_is_told() -> None:
    rows = table("Where people get stuck")
    assert {row[0][1:3] for row in rows} == set(TIMES)
    for task, _, told in rows:
        answers = (ROOT / "tests" / "wrong_answers").glob(f"{task}__*.py")
        phrases = {path.read_text("utf-8").splitlines()[0].partition(": ")[2] for path in answers}
        assert told.strip('"') in phrases, (task, told)


@pytest.mark.parametrize(
    ("part", "places"),
    [
        (
            "What grading may tell you",
            ("courseware/*.py", "courseware/sandbox/*.py", "classroom/*.py"),
        ),
        ("What building slides may tell you", ("slides/*.py",)),
    ],
)
def test_each_message_is_in_the_source(part: str, places: tuple[str, ...]) -> None:
    said = [text for place in places for text in spoken(place)]
    listed = [row[0].strip("`") for row in table(part)]
    assert len(listed) >= 4
    for message in listed:
        # Names and numbers stand for fields.
        sentence = re.sub(r"\bt\d\d_\w+|\b\d+\b", "#", message)
        assert any(sentence in text for text in said), message


def test_every_link_and_picture_leads_somewhere() -> None:
    assert [name for name in local(links(TEXT)) if not (PAGE.parent / name).exists()] == []
    assert [name for _, name in images(TEXT) if not (PAGE.parent / name).is_file()] == []


def test_a_release_does_not_hold_it() -> None:
    from ampcourse.classroom import release

    assert "TEACHING.md" not in release.ROOT_FILES
    assert not release.IMAGES.fullmatch("TEACHING.md")
