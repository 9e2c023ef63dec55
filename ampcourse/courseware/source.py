"""Reads a lesson's source, `notebooks/source/NN_slug.py`, into cells that know their part.

Parts: prose; set-up (tag `setup`; with `folded`, too, its first line is shown); demonstration; task
(`task="t01_1"`), whose solution lies between nbgrader's markers; check (`check="t01_1" points=4`),
with hidden checks between them.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

Part = Literal["prose", "setup", "demo", "task", "check"]

MARKERS = {
    name: re.compile(rf"^[ \t]*### {name}[ \t]*$")
    for name in ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
}
HEADING = re.compile(r"^#+ (t\d\d_\d+) · (.+)$", re.MULTILINE)
TITLE = re.compile(r"\A# (.+)$", re.MULTILINE)
BLANK_LINES = "lines_to_next_cell"
KEYS = {"task", "check", "points", "forbids", "tags"}


class SourceError(ValueError):
    """A lesson source that breaks a rule; the text names the file, the cell and the rule."""


@dataclass(frozen=True)
class Cell:
    """One cell of the source."""

    part: Part
    text: str
    tags: tuple[str, ...] = ()
    task: str = ""
    points: float = 0
    forbids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One graded task: its heading, the solution cell and the check cell."""

    id: str
    title: str
    solution: Cell
    check: Cell

    @property
    def points(self) -> float:
        return self.check.points


@dataclass(frozen=True)
class Lesson:
    """One lesson: `slug` is the file's name, NN_slug, used everywhere."""

    slug: str
    cells: tuple[Cell, ...]

    @property
    def number(self) -> str:
        return self.slug[:2]

    @cached_property
    def title(self) -> str:
        """The first heading."""
        found = TITLE.search(self.cells[0].text) if self.cells else None
        if not found or self.cells[0].part != "prose":
            raise SourceError(f"{self.slug}: the first cell must be markdown that starts '# Title'")
        return found[1]

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks in order, each with its heading before it and its check after."""
        titles: dict[str, str] = {}
        for cell in self.cells:
            if cell.part == "prose":
                titles.update(HEADING.findall(cell.text))
        solutions = {cell.task: cell for cell in self.cells if cell.part == "task"}
        checks = {cell.task: cell for cell in self.cells if cell.part == "check"}
        wanted = [f"t{self.number}_{k}" for k in range(1, len(solutions) + 1)]
        for what, ids in (("headings", titles), ("task cells", solutions), ("check cells", checks)):
            if list(ids) != wanted:
                raise SourceError(
                    f"{self.slug}: {what} have the ids {list(ids)}; "
                    f"{len(solutions)} tasks must be {wanted}, in this order"
                )
        return tuple(Task(id, titles[id], solutions[id], checks[id]) for id in wanted)

    @property
    def setup(self) -> list[str]:
        """The code that runs before a learner's: imports of demonstrations, set-up cells."""
        return [self.imports, *(cell.text for cell in self.cells if cell.part == "setup")]

    @property
    def imports(self) -> str:
        """What demonstrations import from outside the course, but for forbidden modules.

        A learner who has seen `from fractions import Fraction` run uses it without a thought.
        """
        lines = {}
        for node in self.demonstrated():
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
            else:
                continue
            banned = ("ampcourse", *self.forbidden)
            if not any(is_inside(module, parent) for module in modules for parent in banned):
                lines[ast.unparse(node)] = None
        return "\n".join(lines)

    @property
    def demo_names(self) -> set[str]:
        """The names that demonstrations define and grading therefore does not know."""
        return set().union(*map(names_of, self.demonstrated()))

    def demonstrated(self) -> Iterator[ast.stmt]:
        """Yield the statements of the demonstration cells."""
        for cell in self.cells:
            if cell.part == "demo":
                yield from ast.parse(cell.text).body

    @property
    def forbidden(self) -> dict[str, str]:
        """Modules that may not be imported in the graded kernel, with the task that says so."""
        return {module: task.id for task in self.tasks for module in task.solution.forbids}


def names_of(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {part.id for part in stored if isinstance(part.ctx, ast.Store)}


def names_in(text: str) -> set[str]:
    """Return the names that a cell's code defines, none if it is not plain Python."""
    try:
        nodes = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return set().union(*map(names_of, nodes))


def is_inside(module: str, parent: str) -> bool:
    """Return whether a module is `parent` or lies in it."""
    return module == parent or module.startswith(parent + ".")


def read_lesson(path: Path) -> Lesson:
    """Read and check one source; raises SourceError with the rule it breaks."""
    import jupytext

    if not re.fullmatch(r"\d\d_[a-z0-9_]+", path.stem):
        raise SourceError(f"{path.name}: a lesson is named NN_slug.py, in lower case")
    notebook = jupytext.reads(path.read_text("utf-8"), fmt="py:percent")
    cells = []
    for index, cell in enumerate(notebook.cells):
        try:
            cells.append(read_cell(cell))
        except SourceError as error:
            first = cell.source.partition("\n")[0]
            raise SourceError(f"{path.name}, cell {index} ({first!r}): {error}") from None
    lesson = Lesson(path.stem, tuple(cells))
    _ = lesson.title, lesson.tasks  # both check what they return
    return lesson


def read_cell(cell: Any) -> Cell:
    """Turn a jupytext cell into one of the lesson's parts."""
    if cell.cell_type == "markdown":
        return Cell("prose", cell.source)
    # jupytext notes unusual numbers of blank lines there, which say nothing about the lesson.
    metadata = {key: value for key, value in cell.metadata.items() if key != BLANK_LINES}
    if unknown := set(metadata) - KEYS:
        raise SourceError(f"unknown cell metadata {sorted(unknown)}; legal are {sorted(KEYS)}")
    tags = tuple(metadata.get("tags", ()))
    if "task" in metadata:
        marked_lines(cell.source, "SOLUTION")
        forbids = tuple(metadata.get("forbids", ()))
        return Cell("task", cell.source, tags, metadata["task"], forbids=forbids)
    if "check" in metadata:
        if not marked_lines(cell.source, "HIDDEN TESTS"):
            raise SourceError("a check cell needs hidden checks between its markers")
        if not metadata.get("points", 0) > 0:
            raise SourceError("a check cell needs points=…, more than 0")
        return Cell("check", cell.source, tags, metadata["check"], metadata["points"])
    if any(marker.match(line) for marker in MARKERS.values() for line in cell.source.split("\n")):
        raise SourceError("markers belong into task and check cells only")
    return Cell("setup" if "setup" in tags else "demo", cell.source, tags)


def marked_lines(text: str, name: str) -> set[int]:
    """Return the numbers (from 1) of the lines between markers, the markers included.

    nbgrader looks for its markers anywhere in a line and so trips over a comment that names
    one; here a marker is a line of its own, and naming one elsewhere is an error.
    """
    begin, end = MARKERS[f"BEGIN {name}"], MARKERS[f"END {name}"]
    inside, lines = False, set()
    for number, line in enumerate(text.split("\n"), 1):
        if begin.match(line):
            if inside:
                raise SourceError(f"line {number}: BEGIN {name} inside BEGIN {name}")
            inside = True
        if inside:
            lines.add(number)
        if end.match(line):
            if not inside:
                raise SourceError(f"line {number}: END {name} without BEGIN {name}")
            inside = False
        elif any(f"{edge} {name}" in line for edge in ("BEGIN", "END")) and not begin.match(line):
            raise SourceError(f"line {number}: names a marker; nbgrader would take it for one")
    if inside:
        raise SourceError(f"BEGIN {name} has no END {name}")
    if name == "SOLUTION" and not lines:
        raise SourceError("a task cell needs its solution between ### BEGIN/END SOLUTION")
    return lines


def without_solution(text: str, task: str) -> str:
    """Return a task cell as the learner gets it: a stub that raises with the task's id."""
    marked = marked_lines(text, "SOLUTION")
    begin, kept = MARKERS["BEGIN SOLUTION"], []
    for number, line in enumerate(text.split("\n"), 1):
        if begin.match(line):
            indent = line[: len(line) - len(line.lstrip())]
            kept.append(f'{indent}raise NotImplementedError("{task}")')
        elif number not in marked:
            kept.append(line)
    return "\n".join(kept)


def without_hidden(text: str) -> str:
    """Return a check cell as the learner gets it."""
    marked = marked_lines(text, "HIDDEN TESTS")
    lines = text.split("\n")
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in marked)
