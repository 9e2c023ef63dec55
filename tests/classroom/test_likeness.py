"""Copies are told from independent work, by the course's own right and wrong answers."""

import re
from itertools import combinations

import pytest

from ampcourse.classroom.likeness import ALIKE, alike, fingerprint, given_runs, runs, tokens
from ampcourse.courseware.answers import read_answers
from ampcourse.courseware.course import find_course
from ampcourse.courseware.source import Lesson, without_solution
from ampcourse.courseware.submission import Piece, Submission

LESSON = "01_floating_point"
COURSE = find_course()


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return COURSE.lesson(LESSON)


@pytest.fixture(scope="module")
def works(lesson: Lesson) -> dict[str, str]:
    """Whole sets of solutions, written independently: the k-th right answer to every task."""
    rights: dict[str, list[str]] = {task.id: [] for task in lesson.tasks}
    for answer in read_answers(COURSE, LESSON):
        if answer.right:
            rights[answer.task].append(answer.text)
    return {f"s{k}": "\n".join(texts[k] for texts in rights.values()) for k in range(2)}


def print_of(lesson: Lesson, text: str) -> tuple[int, ...]:
    return fingerprint(lesson, Submission((Piece(text),), ()))


def renamed(text: str) -> str:
    """Return code with other names, spaces and comments: what a copier changes."""
    text = re.sub(r"\b(exponent|significand|fmt|code|sign|value)\b", r"my_\1", text)
    return "\n".join(f"{line}  # mine" if line.strip() else line for line in text.split("\n"))


def test_independent_right_answers_are_not_alike(lesson: Lesson, works: dict[str, str]) -> None:
    entries = [(name, name, print_of(lesson, text)) for name, text in works.items()]
    assert alike(LESSON, entries) == []
    (pair,) = alike(LESSON, entries, least=0)
    assert pair.share < ALIKE / 2


def test_a_copy_with_other_names_and_comments_is_alike(
    lesson: Lesson, works: dict[str, str]
) -> None:
    own = works["s0"]
    assert renamed(own) != own
    entries = [
        ("ann", "1", print_of(lesson, own)),
        ("bob", "2", print_of(lesson, renamed(own))),
        ("cat", "3", print_of(lesson, works["s1"])),
    ]
    (pair,) = alike(LESSON, entries)
    assert pair.students == ("ann", "bob")
    assert pair.share == 1
    assert not pair.same_file


def test_stubs_and_what_the_lesson_shows_do_not_count(lesson: Lesson) -> None:
    stubs = [without_solution(task.solution.text, task.id) for task in lesson.tasks]
    assert print_of(lesson, "\n".join(stubs)) == () or not set(
        print_of(lesson, stubs[0])
    ) & given_runs(lesson)
    assert all(print_of(lesson, stub) == () for stub in stubs)


def test_what_many_wrote_counts_little() -> None:
    common, own = tuple(range(200)), range(1000, 1000 + 60 * 20, 60)
    entries = [
        (f"s{k}", str(k), (*common, *range(start, start + 60))) for k, start in enumerate(own)
    ]
    assert len(set(entries[0][2]) & set(entries[1][2])) / 320 > 0.6
    assert alike("x", entries, least=0.45) == []


def test_the_same_file_is_named_as_such(lesson: Lesson, works: dict[str, str]) -> None:
    print_ = print_of(lesson, works["s0"])
    (pair,) = alike(LESSON, [("ann", "1", print_), ("bob", "1", print_)])
    assert pair.same_file


def test_short_work_is_only_called_alike_where_the_files_are_the_same(lesson: Lesson) -> None:
    print_ = print_of(lesson, "def add_one(x):\n    return x + 1 - 0 * 3 // 7")
    assert print_
    assert alike(LESSON, [("ann", "1", print_), ("bob", "2", print_)]) == []
    assert alike(LESSON, [("ann", "1", print_), ("bob", "1", print_)])[0].same_file


def test_untouched_notebooks_are_all_the_same_and_never_called_alike() -> None:
    assert alike(LESSON, [("ann", "1", ()), ("bob", "1", ())]) == []


@pytest.mark.parametrize("text", ["def f(:\n  '", "\0", "x = '''", "  a\n b", "é = 1\udcff"])
def test_broken_code_has_tokens_as_far_as_it_goes(text: str) -> None:
    assert isinstance(tokens(text), list)
    assert isinstance(runs(text), set)


def test_every_pair_is_counted_once(works: dict[str, str], lesson: Lesson) -> None:
    print_ = print_of(lesson, works["s0"])
    entries = [(f"s{k}", str(k), print_) for k in range(5)]
    found = {pair.students for pair in alike(LESSON, entries)}
    assert found == set(combinations([f"s{k}" for k in range(5)], 2))
