"""Pages tell why marks were lost, and nothing that they should not."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ampcourse.classroom.collection import Catalogue
from ampcourse.classroom.feedback import write_pages
from ampcourse.classroom.grading import Progress
from ampcourse.classroom.page import LONGEST, seen
from ampcourse.classroom.store import Store
from ampcourse.courseware.sheet import make_sheet
from ampcourse.courseware.source import marked_lines
from tests.classroom.conftest import LESSON, WRONG, notebook
from tests.courseware.conftest import RIGHT

Put = Callable[..., Path]
Graded = Callable[..., Progress]
HOSTILE = "<script>alert(1)</script>"
LIAR = {**RIGHT, "t90_1": f"def add_one(x):\n    return '{HOSTILE}\\u202e&quot;'"}


class Reader(HTMLParser):
    """Collects a page's tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


@pytest.fixture
def pages(graded: Graded, store: Store, course: Catalogue) -> Callable[[], dict[str, str]]:
    """Grade what was put and return all pages by name."""

    def made() -> dict[str, str]:
        graded()
        write_pages(course, store)
        return {path.stem: path.read_text("utf-8") for path in store.folder.rglob("*.html")}

    return made


def test_a_lost_mark_comes_with_call_result_expectation_cause_and_section(
    put: Put, pages: Callable[[], dict[str, str]]
) -> None:
    put(f"bob/{LESSON}.ipynb", notebook(WRONG))
    text = Reader(pages()["bob"]).text
    for words in ("4 of 5 points", "add_one(1)", "gave 0", "2", "that is one less"):
        assert words in text
    assert "To read again: lesson 90" in text


def test_pages_need_nothing_but_themselves_and_run_nothing(
    put: Put, pages: Callable[[], dict[str, str]]
) -> None:
    put(f"bob/{LESSON}.ipynb", notebook(WRONG))
    for page in pages().values():
        found = Reader(page)
        assert not {"script", "img", "link", "iframe", "object"} & set(found.tags)
        assert [one for one in found.addresses if ":" in one or one.startswith("/")] == []
        assert "default-src 'none'" in page


def test_whatever_a_learner_or_a_platform_names_is_shown_and_not_run(
    put: Put, pages: Callable[[], dict[str, str]]
) -> None:
    student = "<img src=x onerror=alert(1)>\u202e"
    put(f"{student}/{LESSON}.ipynb", notebook(LIAR))
    made = pages()
    assert len(made) == 2
    for name, page in made.items():
        assert "<script" not in page
        assert "<img" not in page
        assert "\u202e" not in page
        assert "\\u202e" in page
        if name != "class":
            assert HOSTILE in Reader(page).text


def test_a_page_holds_no_solution_and_no_hidden_call_but_the_one_that_failed(
    put: Put, pages: Callable[[], dict[str, str]], course: Catalogue
) -> None:
    half = {**RIGHT, "t90_1": "def add_one(x):\n    return {1: 2, float('inf'): x}.get(x, x - 1)"}
    put(f"bob/{LESSON}.ipynb", notebook(half))
    put(f"cat/{LESSON}.ipynb", notebook({}))
    made = pages()
    lesson = course.lesson(LESSON)
    hidden = [
        check.call
        for entry in make_sheet(lesson).entries
        for at, check in enumerate(entry.checks)
        if at in entry.hidden
    ]
    assert [call for call in hidden if call in Reader(made["bob"]).text] == ["add_one(5)"]
    assert [call for call in hidden if call in Reader(made["cat"]).text] == []
    for task in lesson.tasks:
        lines = task.solution.text.split("\n")
        own = {lines[number - 1].strip() for number in marked_lines(task.solution.text, "SOLUTION")}
        for page in made.values():
            assert not any(line in page for line in own if len(line) > 8)


def test_a_notebook_that_could_not_be_graded_is_told_to_have_no_mark(
    put: Put, pages: Callable[[], dict[str, str]]
) -> None:
    put(f"bob/{LESSON}.ipynb", b"")
    made = pages()
    assert "No mark yet" in made["bob"]
    assert "0 of" not in Reader(made["bob"]).text
    assert "1 not graded" in made["class"]


def test_the_class_page_counts_results_causes_and_the_unsolved(
    put: Put, pages: Callable[[], dict[str, str]]
) -> None:
    for student, solutions in (("ann", WRONG), ("bob", WRONG), ("cat", {})):
        put(f"{student}/{LESSON}.ipynb", notebook({**solutions, "t90_2": WRONG["t90_2"]}))
    put(f"dan/{LESSON}.ipynb", b"")
    text = " ".join(Reader(pages()["class"]).text.split())
    assert "t90_1 · Add one nobody has full marks 0 2 0 1" in text
    assert "t90_2 · Refuse text 3 0 0 0 3 of 3" in text
    assert "that is one less t90_1 2" in text
    assert "3 graded, median 4 of 5 points, from 3 to 4 · 1 not graded" in text
    assert "no protection at all" in text


def test_missing_and_odd_files_are_on_the_class_page(
    graded: Graded, store: Store, course: Catalogue, put: Put
) -> None:
    put(f"ann/{LESSON}.ipynb")
    put("ann/essay.pdf", b"")
    graded(roster={"ann": "", "zoe": ""})
    write_pages(course, store)
    text = store.class_page.read_text("utf-8")
    assert "Nothing from <bdi>zoe</bdi>" in text
    assert '<th scope="row"><bdi>zoe</bdi></th>' in text
    assert "2 students" in text
    assert "essay.pdf" in text


def test_unseen_characters_are_spelled_and_floods_cut() -> None:
    assert seen("a\u200bb\x00\n") == "a\\u200bb\\u0000\n"
    assert len(seen("x" * 10**6)) < LONGEST + 20
