"""Runs a learner's own notebook and tells which of its visible checks hold, as Validate does.

It runs with the rights of whoever calls it: for one's own work. Others' is for `grade`.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ampcourse.courseware.submission import SubmissionError, read_bytes

ONLY_VISIBLE = (
    "These are the visible checks only, as with Validate: grading tries other inputs too."
)
STOPPED = "its check did not come to an end"


@dataclass(frozen=True)
class Seen:
    """One check cell: its task, whether it holds, and what it said."""

    task: str
    holds: bool
    told: str


def run_visible(path: Path, seconds: int = 60) -> list[Seen]:
    """Run a notebook from top to bottom and read its check cells.

    Raises SubmissionError for a file that is no notebook or has no check cells.
    """
    nb = read(path)
    if not any(task_of(cell) for cell in nb.cells):
        raise SubmissionError(f"{path} has no check cells of this course's")
    with tempfile.TemporaryDirectory(prefix="ampcheck") as folder:
        trouble = execute(nb, Path(folder), seconds)
    return [seen(cell, trouble) for cell in nb.cells if task_of(cell)]


def read(path: Path) -> Any:
    """Return a notebook of any format, as nbformat 4."""
    import nbformat

    try:
        return nbformat.reads(read_bytes(path).decode("utf-8-sig"), as_version=4)
    except SubmissionError as error:
        raise SubmissionError(f"{path}: {error}") from None
    except Exception as error:  # nbformat raises what it meets, by the kind of damage
        raise SubmissionError(f"{path} is no notebook that can be run ({error})") from None


def execute(nb: Any, folder: Path, seconds: int) -> str:
    """Run all cells, going on after errors; return what ended it before the last, if so."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    package = Path(__file__).resolve().parents[2]
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    client = NotebookClient(
        nb,
        timeout=seconds,
        kernel_name="python3",
        allow_errors=True,
        interrupt_on_timeout=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))})
    except CellTimeoutError:
        return f"a cell before it took more than {seconds} s"
    except DeadKernelError:
        return "a cell before it ended the kernel"
    return ""


def task_of(cell: Any) -> str:
    """Return the task that a cell checks, or an empty string."""
    about = cell.metadata.get("nbgrader", {})
    name = about.get("grade_id", "") if isinstance(about, dict) and about.get("grade") else ""
    return str(name).removesuffix("_check") if cell.cell_type == "code" else ""


def seen(cell: Any, trouble: str) -> Seen:
    """Read the outputs of a check cell that was run, or was not reached."""
    task = task_of(cell)
    errors = [output for output in cell.outputs if output.output_type == "error"]
    if errors:
        error = errors[-1]
        own = error.ename == "TaskNotPassed"
        return Seen(task, False, error.evalue if own else f"{error.ename}: {error.evalue}")
    cards = [
        str(output.data.get("text/plain", ""))
        for output in cell.outputs
        if output.output_type in ("display_data", "execute_result")
    ]
    solved = [text for text in cards if text.startswith(f"{task} solved")]
    if solved:
        return Seen(task, True, "all visible checks hold")
    return Seen(task, False, f"was not run: {trouble}" if trouble else STOPPED)
