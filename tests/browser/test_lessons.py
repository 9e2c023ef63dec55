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
IN_VIEW = """id => {
    const heading = document.querySelector(`[data-jupyter-id='${id}'], [id='${id}']`);
    const place = heading?.getBoundingClientRect();
    return place && place.top > 0 && place.bottom < window.innerHeight;
}"""


HEIGHT = """() => [...document.querySelectorAll('.jp-Notebook .jp-Cell')]
    .reduce((sum, cell) => sum + cell.getBoundingClientRect().height, 0)"""
# Nothing lies over a cell, and none waits to be drawn.
IN_SIGHT = """() => [...document.querySelectorAll('.jp-Notebook .jp-Cell')].every(cell => {
    const { left, top, width, height } = cell.getBoundingClientRect();
    return !height || cell.contains(document.elementFromPoint(left + width / 2, top + height / 2));
})"""
OWN = [".jp-Notebook .jp-MarkdownOutput", ".jp-Notebook .jp-OutputArea-output"]


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
    lab.open(COURSE.learner / f"{slug}.ipynb")
    lab.run_all()
    total = len(COURSE.lesson(slug).tasks)
    # The last cell's output may arrive a moment after its reply.
    lab.page.wait_for_function(LAST_OUTPUT, arg=f"0 of {total} tasks solved", timeout=90_000)
    show_all(lab)
    lab.theme("JupyterLab Dark")  # of all that axe looks at, the theme changes contrast
    lab.page.wait_for_function(IN_SIGHT, timeout=60_000)
    assert violations(lab.page, OWN, only=["color-contrast"]) == []
    lab.theme("JupyterLab Light")
    lab.page.wait_for_function(IN_SIGHT, timeout=60_000)
    # JupyterLab underlines a link only under the mouse.
    assert violations(lab.page, OWN, off=["link-in-text-block"]) == []


def show_all(lab: Lab) -> None:
    """Put every cell into the page, and make it so high that all can be seen."""
    lab.page.set_viewport_size({"width": 1280, "height": 30_000})  # it draws what is in sight
    lab.page.wait_for_function(
        """() => document.querySelectorAll('.jp-Notebook .jp-Cell').length
            === window.jupyterapp.shell.currentWidget.content.widgets.length""",
        timeout=60_000,
    )
    height = 0
    while height != (now := int(lab.page.evaluate(HEIGHT))):
        height = now
        lab.page.set_viewport_size({"width": 1280, "height": height + 400})
        lab.page.wait_for_timeout(1000)  # what comes into sight may grow


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
