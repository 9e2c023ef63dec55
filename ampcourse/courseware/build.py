"""Derives the learner's and the instructor's notebooks from a lesson's source.

Both have the same cells. The learner's has stubs for solutions, no hidden checks and no
outputs; the instructor's keeps both, with nbgrader's markers, and is executed. Everything but
outputs is a function of the source alone, so a build can be repeated and compared.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ampcourse.courseware.course import Course
from ampcourse.courseware.source import Cell, Lesson, SourceError, without_hidden, without_solution

MAX_INSTRUCTOR_BYTES = 300_000
CELL_SECONDS = 60
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Checks are long and name wrong answers: JupyterLab shows their first line until it is clicked.
FOLDED = {"source_hidden": True}
# A lesson that is named in prose becomes a link; as code it would not look like one.
LESSON = re.compile(r"`(\d\d_[a-z0-9_]+)`")
PROGRESS = """\
from ampcourse.courseware import progress

progress({titles})"""


def learner(lesson: Lesson) -> Any:
    """Return the learner's notebook: stubs, visible checks, no outputs."""
    return notebook(lesson, solved=False)


def instructor(lesson: Lesson) -> Any:
    """Return the instructor's notebook, not executed yet."""
    return notebook(lesson, solved=True)


def notebook(lesson: Lesson, solved: bool) -> Any:
    """Return a notebook of the lesson's cells and the progress cell."""
    cells = []
    for index, cell in enumerate(lesson.cells):
        text = cell.text
        if cell.part == "task" and not solved:
            text = without_solution(text, cell.task)
        if cell.part == "check" and not solved:
            text = without_hidden(text)
        if cell.part == "prose":
            text = LESSON.sub(r"[\1](\1.ipynb)", text)
        make = new_markdown_cell if cell.part == "prose" else new_code_cell
        cells.append(make(text, id=cell_id(cell, index), metadata=cell_metadata(cell, index)))
    if lesson.tasks:
        # JSON's texts are Python's too, whatever quotation marks a title has.
        pairs = [(task.id, json.dumps(task.title, ensure_ascii=False)) for task in lesson.tasks]
        lines = "".join(f'    "{name}": {title},\n' for name, title in pairs)
        text = PROGRESS.format(titles="{\n" + lines + "}")
        cells.append(new_code_cell(text, id="progress", metadata={"jupyter": FOLDED}))
    metadata = {**METADATA, "ampcourse": {"lesson": lesson.slug}}
    return new_notebook(cells=cells, metadata=metadata)


def cell_id(cell: Cell, index: int) -> str:
    """Return the cell's id: the task's where it has one, else its place."""
    suffix = {"task": "", "check": "_check"}
    return cell.task + suffix[cell.part] if cell.part in suffix else f"cell-{index:02d}"


def cell_metadata(cell: Cell, index: int) -> dict[str, Any]:
    """Return tags and nbgrader's metadata."""
    tags = list(cell.tags)
    if cell.part in ("prose", "demo"):
        return {"tags": tags} if tags else {}
    if cell.part == "check":
        tags.append("raises-exception")  # so that Run All goes on past an unsolved task
    nbgrader: dict[str, Any] = {
        "grade": cell.part == "check",
        "grade_id": cell_id(cell, index),
        "locked": cell.part != "task",
        "schema_version": 3,
        "solution": cell.part == "task",
        "task": False,
    }
    if cell.part == "check":
        nbgrader["points"] = cell.points
    folded = {"jupyter": FOLDED} if cell.part == "check" or "folded" in tags else {}
    return {"nbgrader": nbgrader, **folded, **({"tags": tags} if tags else {})}


def client(nb: Any, folder: Path) -> Any:
    """Return an nbclient that runs a notebook in `folder`."""
    from nbclient import NotebookClient

    return NotebookClient(
        nb,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        extra_arguments=["--log-level=ERROR"],  # no warning at each start about local TCP
    )


def execute(nb: Any, folder: Path) -> None:
    """Run a notebook in `folder`, keeping outputs that another run can be compared with."""
    client(nb, folder).execute()
    nb.metadata["language_info"] = METADATA["language_info"]  # the kernel adds its version
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            # A widget's view names a model that dies with the kernel; its text stays.
            output.get("data", {}).pop(WIDGET_VIEW, None)


def failures(nb: Any) -> list[str]:
    """Return the checks that an executed notebook did not pass."""
    return [
        f"{cell.id}: {output.evalue}"
        for cell in nb.cells
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    ]


def text_of(nb: Any) -> str:
    """Return the notebook as it is written to its file."""
    return nbformat.writes(nb, version=4, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, "utf-8")
    os.replace(draft, path)


def build(course: Course, slug: str) -> None:
    """Write both notebooks of a lesson; raises SourceError if its own solutions fail."""
    lesson = course.lesson(slug)
    solved = instructor(lesson)
    execute(solved, course.learner)
    if failed := failures(solved):
        raise SourceError(f"{slug}: the lesson's own solution fails\n" + "\n".join(failed))
    text = text_of(solved)
    if len(text.encode()) > MAX_INSTRUCTOR_BYTES:
        size = len(text.encode()) // 1000
        raise SourceError(f"{slug}: the instructor's copy has {size} kB; legal are 300")
    write(course.instructor / f"{slug}.ipynb", text)
    write(course.learner / f"{slug}.ipynb", text_of(learner(lesson)))


def stale(course: Course, slug: str) -> Iterator[str]:
    """Yield what differs between the committed notebooks and what the source builds."""
    lesson = course.lesson(slug)
    for folder, fresh in (
        (course.learner, learner(lesson)),
        (course.instructor, instructor(lesson)),
    ):
        path = folder / f"{slug}.ipynb"
        name = path.relative_to(course.root)
        if not path.is_file():
            yield f"{name} is missing: run `ampcourse build {lesson.number}` and commit it"
        elif bare(path.read_text("utf-8"), folder == course.instructor) != fresh:
            yield f"{name} is not what its source builds: run `ampcourse build {lesson.number}`"


def bare(text: str, executed: bool) -> Any:
    """Return a committed notebook without what execution adds."""
    nb = nbformat.from_dict(json.loads(text))
    nb.cells = [joined(cell) for cell in nb.cells]
    for cell in nb.cells if executed else ():
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nb


def joined(cell: Any) -> Any:
    """Return a cell whose source is one string: files keep it as lines."""
    if isinstance(cell.source, list):
        cell.source = "".join(cell.source)
    return cell
