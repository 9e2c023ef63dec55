"""The self-test sees answers that do not get what they deserve."""

from pathlib import Path

import pytest

from ampcourse.classroom.collection import Catalogue
from ampcourse.classroom.self_test import HEADER, Row, self_test, try_lesson
from ampcourse.courseware.course import find_course
from tests.classroom.conftest import LESSON
from tests.courseware.conftest import RIGHT

LESS = "# message: that is one less\ndef add_one(x):\n    return x - 1\n"
NO_TEXT = "# message: text is no int\ndef text_of(x):\n    return str(x)\n"


@pytest.fixture
def answers(course: Catalogue) -> Path:
    """Known answers to the sample lesson, all as they should be."""
    folder = course.root / "tests"
    (folder / "right_answers").mkdir(parents=True)
    (folder / "wrong_answers").mkdir()
    for task, text in RIGHT.items():
        for way in ("one", "two"):
            (folder / "right_answers" / f"{task}__{way}.py").write_text(text)
    (folder / "wrong_answers" / "t90_1__less.py").write_text(LESS)
    (folder / "wrong_answers" / "t90_2__no_text.py").write_text(NO_TEXT)
    return folder


def rows(course: Catalogue) -> list[Row]:
    return try_lesson(course.root, LESSON)


@pytest.mark.usefixtures("answers")
def test_answers_as_they_should_be_have_no_fault(course: Catalogue) -> None:
    ((slug, found),) = self_test(course, [LESSON], workers=1)
    assert slug == LESSON
    assert [row.faults for row in found] == [(), ()]
    assert [(row.wrong, row.right, row.blank, row.solution) for row in found] == [
        ((1, 1), (2, 2), True, True)
    ] * 2
    print("\n" + "\n".join([HEADER, *map(str, found)]))


@pytest.mark.parametrize(
    ("kind", "name", "text", "fault"),
    [
        ("wrong", "t90_1__x", "# message: one less\n" + RIGHT["t90_1"], "gets all points"),
        ("wrong", "t90_1__x", LESS.replace("that is", "never is"), "'never is one less', is not"),
        ("right", "t90_1__x", LESS, "right, but loses points"),
    ],
)
def test_an_answer_that_gets_what_it_does_not_deserve_is_told(
    course: Catalogue, answers: Path, kind: str, name: str, text: str, fault: str
) -> None:
    (answers / f"{kind}_answers" / f"{name}.py").write_text(text)
    first, second = rows(course)
    assert len(first.faults) == 1
    assert fault in first.faults[0]
    assert second.faults == ()


def test_a_task_without_answers_enough_is_told(course: Catalogue, answers: Path) -> None:
    for path in answers.rglob("t90_2__*.py"):
        path.unlink()
    assert [fault.partition(": ")[2] for fault in rows(course)[1].faults] == [
        "0 right answers; two are asked for",
        "no wrong answer is known",
    ]


@pytest.mark.usefixtures("answers")
def test_a_solution_that_loses_points_and_a_stub_that_gets_some_are_told(
    course: Catalogue,
) -> None:
    path = course.source / f"{LESSON}.py"
    text = path.read_text("utf-8")
    path.write_text(text.replace("    return x + 1\n    ###", "    return x + 2\n    ###"))
    assert "the lesson's solution loses points" in rows(course)[0].faults[0]
    given = '    """Return x + 1."""\n'
    path.write_text(
        text.replace(given, given + "    if x in (5, 7, -1, 1):\n        return x + 1\n")
    )
    assert any("the stub gets 1 points" in fault for fault in rows(course)[0].faults)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_answer_of_the_course_gets_what_it_deserves() -> None:
    course = find_course()
    found = dict(self_test(course, course.slugs, workers=2))
    rows = [row for slug in course.slugs for row in found[slug]]
    print("\n" + "\n".join([HEADER, *map(str, rows)]))
    assert [fault for row in rows for fault in row.faults] == []
