"""Feedback and class pages in a browser: accessible in both schemes, on a phone, offline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupytext", reason="needs the lab extra")
pytest.importorskip("jinja2", reason="needs the lab extra")

from ampcourse.classroom.collection import Catalogue, collect
from ampcourse.classroom.feedback import write_pages
from ampcourse.classroom.grading import grade_class
from ampcourse.classroom.store import Store
from ampcourse.courseware.kernel import Limits
from tests.browser.axe import violations
from tests.classroom.conftest import LESSON, WRONG, here, notebook
from tests.courseware.conftest import SAMPLE

pytestmark = pytest.mark.browser
LONG = "def add_one(x):\n    return 'a_long_word_' * 400"
BROKEN = "def add_one(x):\n    raise ValueError('<b>not</b> today: ' + 'x ' * 300)"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grade a class in which everything that a page can show happens."""
    folder = tmp_path_factory.mktemp("class")
    for student, content in (
        ("ann", notebook()),
        ("bob", notebook(WRONG)),
        ("cat", notebook({**WRONG, "t90_1": LONG})),
        ("dan", notebook({**WRONG, "t90_1": BROKEN})),
        ("eve", notebook({})),
        ("fay", b""),
    ):
        path = folder / "in" / student / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    course, store = Catalogue(SAMPLE), Store(folder / "grades")
    store.open()
    found = collect(course, [folder / "in"], folder, roster=dict.fromkeys(["ann", "zoe"], ""))
    store.keep_collection(found)
    grade_class(course, found, store, here, Limits())
    write_pages(course, store)
    return store.folder


@pytest.fixture(params=["light", "dark"])
def page(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a page of a context that notes requests and messages."""
    context = chromium.browser.new_context(color_scheme=request.param, bypass_csp=True)
    made = context.new_page()
    made.asked, made.said = [], []
    made.on("request", lambda request: made.asked.append(request.url))
    made.on("console", lambda message: made.said.append(message.text))
    yield made
    context.close()


NAMES = ["class", *(f"feedback/{name}" for name in ("ann", "bob", "cat", "dan", "eve", "fay"))]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_accessible_fits_a_phone_and_asks_for_nothing(
    pages: Path, page: Any, name: str
) -> None:
    path = pages / f"{name}.html"
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page, "html") == []
    assert page.asked == [path.as_uri()]
    assert page.said == []


def test_the_class_page_leads_to_every_students(pages: Path, page: Any) -> None:
    page.goto((pages / "class.html").as_uri())
    links = page.eval_on_selector_all("a[href^='feedback/']", "all => all.map(a => a.href)")
    assert len(links) == 6
    for link in links:
        page.goto(link)
        assert page.locator("h1").inner_text().startswith("Feedback for")


def test_every_link_inside_a_page_leads_to_a_place_on_it(pages: Path, page: Any) -> None:
    page.goto((pages / "feedback" / "bob.html").as_uri())
    targets = page.eval_on_selector_all(
        "a[href^='#']", "all => all.map(a => !!document.getElementById(a.hash.slice(1)))"
    )
    assert targets
    assert all(targets)


def test_printed_paper_is_white_whatever_the_scheme(pages: Path, page: Any) -> None:
    page.goto((pages / "feedback" / "bob.html").as_uri())
    page.emulate_media(media="print")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
