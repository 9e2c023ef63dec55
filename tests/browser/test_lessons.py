"""Lessons in a real JupyterLab: Run All goes through, cards are short, Validate counts."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from ampcourse.courseware.build import learner
from ampcourse.courseware.course import Course, find_course
from tests.browser.axe import violations
from tests.browser.lab_session import Lab

pytestmark = pytest.mark.browser

COURSE = find_course()
SAMPLE = Course(Path(__file__).parents[1] / "courseware" / "sample")

LAST_OUTPUT = """text => {
    const cell = window.jupyterapp.shell.currentWidget.content.widgets.at(-1);
    return JSON.stringify(cell.model.outputs.toJSON()).includes(text);
}"""
NOTHING_TO_SCROLL = """() => {
    const all = document.querySelector('.jp-Notebook .jp-WindowedPanel-outer');
    return all.scrollTop === 0 && all.scrollHeight <= all.clientHeight;
}"""
# Prose and outputs but for JupyterLab's own: its links have no underline, and in Markdown it
# colours code.
OWN = {
    "include": [".jp-Notebook .jp-MarkdownOutput", ".jp-Notebook .jp-OutputArea-output"],
    "exclude": [".jp-RenderedMarkdown pre", ".jp-RenderedMarkdown a"],
}
IN_VIEW = """id => {
    const heading = document.querySelector(`[data-jupyter-id='${id}'], [id='${id}']`);
    const place = heading?.getBoundingClientRect();
    return place && place.top > 0 && place.bottom < window.innerHeight;
}"""


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], Path]:
    """Write the sample lesson's learner's copy with a first solution of one's own."""

    def write(solution: str) -> Path:
        nb = learner(SAMPLE.lesson("90_sample"))
        for cell in nb.cells:
            if cell.id == "t90_1" and solution:
                cell.source = solution
        nbformat.write(nb, tmp_path / "sample.ipynb")
        return tmp_path / "sample.ipynb"

    return write


@pytest.mark.parametrize("slug", COURSE.slugs)
def test_run_all_reaches_the_end_and_axe_finds_nothing_in_what_is_ours(lab: Lab, slug: str) -> None:
    lab.attach_all_cells()
    lab.open(COURSE.learner / f"{slug}.ipynb")
    lab.run_all()
    total = len(COURSE.lesson(slug).tasks)
    # The last cell's output may arrive a moment after its reply.
    lab.page.wait_for_function(LAST_OUTPUT, arg=f"0 of {total} tasks solved", timeout=90_000)
    show_all(lab)
    lab.theme("JupyterLab Dark")  # of all that axe looks at, the theme changes contrast
    assert violations(lab.page, OWN, only=["color-contrast"]) == []
    lab.theme("JupyterLab Light")
    assert violations(lab.page, OWN) == []


def test_axe_sees_the_last_paragraph_of_a_page(lab: Lab) -> None:
    lab.attach_all_cells()
    lab.open(COURSE.learner / "01_floating_point.ipynb")
    show_all(lab)
    last = lab.page.locator(".jp-Notebook .jp-MarkdownOutput p").last
    last.evaluate("paragraph => { paragraph.style.color = '#ccc' }")
    (found,) = violations(lab.page, OWN, only=["color-contrast"])
    assert last.inner_text()[:20] in " ".join(found[1])


def show_all(lab: Lab) -> None:
    """Make the window so high that nothing has to be scrolled: axe passes over what is cut off."""
    lab.page.set_viewport_size({"width": 1280, "height": 30_000})
    lab.page.wait_for_function(NOTHING_TO_SCROLL, timeout=60_000)


def test_a_wrong_answer_shows_one_card_and_no_traceback(
    lab: Lab, sample: Callable[[str], Path]
) -> None:
    lab.open(sample("def add_one(x):\n    return x - 1"))
    lab.run_all()
    cards = lab.page.locator(".ampcourse-card")
    assert "t90_1 is not right yet" in cards.nth(0).inner_text()
    assert "that is one less" in cards.nth(0).inner_text()
    assert "t90_2 is waiting" in cards.nth(1).inner_text()
    errors = lab.page.locator("[data-mime-type='application/vnd.jupyter.stderr']")
    assert [error for error in errors.all() if error.is_visible()] == []


def test_the_progress_card_leads_back_to_a_task(lab: Lab, sample: Callable[[str], Path]) -> None:
    lab.page.set_viewport_size({"width": 900, "height": 420})
    lab.open(sample(""))
    lab.run_all()
    lab.page.get_by_role("link", name="t90_1 · Add one").click()
    lab.page.wait_for_function(IN_VIEW, arg="t90_1-·-Add-one")


@pytest.mark.parametrize(
    ("solution", "words"),
    [
        ("def add_one(x):\n    return x - 1", "that is one less"),
        ("", "t90_1 is not solved yet"),
    ],
)
def test_validate_counts_a_failed_check(
    lab: Lab, sample: Callable[[str], Path], solution: str, words: str
) -> None:
    pytest.importorskip("nbgrader", reason="Validate is nbgrader's")
    lab.open(sample(solution))
    lab.page.get_by_role("button", name="Validate").click()
    dialog = lab.page.locator(".jp-Dialog-content")
    dialog.wait_for(timeout=60_000)
    assert words in " ".join(dialog.inner_text().split())
