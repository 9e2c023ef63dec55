"""Reads what a learner handed in, whatever became of the file on the way.

Only two kinds of cell are taken from it: solution cells, known by their grade_id, and cells
the learner added. Given cells and checks come from the source, so editing them changes nothing.
"""

import json
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ampcourse.courseware.build import cell_id, instructor, learner
from ampcourse.courseware.course import Course
from ampcourse.courseware.source import Lesson, names_in

MAX_BYTES = 50_000_000
MAX_ADDED = 500  # cells of the learner's own that are run


class SubmissionError(ValueError):
    """A file that is no notebook; the text says what it is."""


@dataclass(frozen=True)
class Piece:
    """Code of the learner's: a task's solution, or an added cell (task is empty)."""

    text: str
    task: str = ""


@dataclass(frozen=True)
class Submission:
    """The learner's code in the order of the file, and what was odd about the file."""

    pieces: tuple[Piece, ...]
    notes: tuple[str, ...]
    #: Names defined in given cells that the learner edited; that code is not run.
    unused: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RawCell:
    """One cell as it stands in the file."""

    kind: str
    text: str
    names: tuple[str, ...]  # grade_id and cell id, as far as there are any

    @property
    def code(self) -> bool:
        return self.kind == "code"


def read_cells(path: Path) -> tuple[list[RawCell], dict[str, Any]]:
    """Return the cells and the metadata of a notebook of any format; raises SubmissionError."""
    notebook = parse(read_bytes(path))
    sheets = notebook.get("worksheets")
    cells = notebook.get("cells")
    if cells is None and isinstance(sheets, list):  # nbformat 3
        cells = [cell for sheet in sheets if isinstance(sheet, dict) for cell in listed(sheet)]
    if not isinstance(cells, list):
        raise SubmissionError("it is JSON, but has no list of cells: not a notebook")
    metadata = notebook.get("metadata")
    raw = [cell for cell in map(raw_cell, cells) if cell]
    return raw, metadata if isinstance(metadata, dict) else {}


def listed(sheet: dict[str, Any]) -> list[Any]:
    cells = sheet.get("cells")
    return cells if isinstance(cells, list) else []


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file of sane size."""
    try:
        about = path.stat()
    except OSError as error:
        raise SubmissionError(f"it cannot be opened ({error.strerror})") from None
    if not stat.S_ISREG(about.st_mode):
        kind = "a folder" if stat.S_ISDIR(about.st_mode) else "not a regular file"
        raise SubmissionError(f"it is {kind}, not a notebook")
    if about.st_size > MAX_BYTES:
        raise SubmissionError(f"it has {about.st_size:,} bytes; at most {MAX_BYTES:,} are read")
    try:
        return path.read_bytes()
    except OSError as error:
        raise SubmissionError(f"it cannot be read ({error.strerror})") from None


def parse(content: bytes) -> dict[str, Any]:
    """Return the JSON object in `content`, with or without a byte order mark."""
    if not content.strip():
        raise SubmissionError("it is empty")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = content.decode("utf-16") if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        except UnicodeDecodeError:
            text = ""
        text = text or content.decode("latin-1")
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        raise SubmissionError(f"it is not JSON: {error.msg} in line {error.lineno}") from None
    except RecursionError:
        raise SubmissionError("it is nested too deeply to be a notebook") from None
    except ValueError as error:  # integers of more digits than Python reads
        raise SubmissionError(f"it is not a notebook: {error}") from None
    if not isinstance(notebook, dict):
        raise SubmissionError("it is JSON, but not a notebook")
    return notebook


def raw_cell(cell: Any) -> RawCell | None:
    """Return the parts of a cell that matter, or None where it is not a cell."""
    if not isinstance(cell, dict):
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        source = ""
    metadata = cell.get("metadata")
    grader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = grader.get("grade_id") if isinstance(grader, dict) else None
    names = tuple(name for name in (grade_id, cell.get("id")) if isinstance(name, str))
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    return RawCell(str(cell.get("cell_type")), text, names)


def lesson_of(course: Course, path: Path) -> Lesson:
    """Find the lesson a file belongs to: by its metadata, its tasks, then its name."""
    cells, metadata = read_cells(path)
    own = metadata.get("ampcourse")
    slug = own.get("lesson") if isinstance(own, dict) else None
    if slug in course.slugs:
        return course.lesson(str(slug))
    for cell in cells:
        for name in cell.names:
            for slug in course.slugs:
                if name.startswith(f"t{slug[:2]}_"):
                    return course.lesson(slug)
    return lesson_by_name(course, path)


def lesson_by_name(course: Course, path: Path) -> Lesson:
    """Find the lesson whose name the file's name contains."""
    found = [slug for slug in course.slugs if slug in path.name]
    if len(found) != 1:
        raise SubmissionError("nothing in it or in its name says which lesson it belongs to")
    return course.lesson(found[0])


@lru_cache
def given_texts(lesson: Lesson) -> dict[str, frozenset[str]]:
    """Return what each cell of the learner's and of the instructor's copy says, by its id."""
    texts = {cell.id: {cell.source.strip()} for cell in learner(lesson).cells}
    for cell in instructor(lesson).cells:  # so that the instructor's own copy is no oddity
        texts[cell.id].add(cell.source.strip())
    return {name: frozenset(both) for name, both in texts.items()}


def foreign(metadata: dict[str, Any]) -> str:
    """Return the name of the notebook's kernel if it is for another language than Python."""
    kernel = metadata.get("kernelspec")
    if not isinstance(kernel, dict):
        return ""
    name = str(kernel.get("name") or kernel.get("display_name") or "")[:40]
    language = str(kernel.get("language") or name)
    return "" if "python" in (language + name).lower() else name


def read_submission(path: Path, lesson: Lesson) -> Submission:
    """Sort a file's cells into solutions, added cells and given ones, with notes."""
    cells, metadata = read_cells(path)
    notes = [f"its kernel is {name!r}; it is run as Python"] if (name := foreign(metadata)) else []
    given = dict(given_texts(lesson))
    stubs = {task.id: min(given.pop(task.id), key=len) for task in lesson.tasks}
    known = set().union(*given.values())
    shown = {cell_id(cell, at) for at, cell in enumerate(lesson.cells) if cell.part == "demo"}
    pieces, seen, unused, added = [], dict.fromkeys(stubs, 0), set[str](), 0
    solved = {name for cell in cells for name in cell.names if cell.text.strip() != stubs.get(name)}
    for cell in cells:
        name = next((name for name in cell.names if name in stubs or name in given), "")
        if name in stubs:
            seen[name] += 1
            if not cell.code:
                notes.append(f"the solution cell of {name} is no code cell any more")
            elif cell.text.strip() != stubs[name] or name not in solved:
                pieces.append(Piece(cell.text, name))
        elif name or cell.text.strip() in known:
            if name and cell.text.strip() not in given[name]:
                unused |= names_in(cell.text)
                if name not in shown:  # predictions go there, and people are asked to play
                    notes.append(f"the given cell {name} was edited: the original is used")
        elif cell.code and cell.text.strip():
            added += 1
            if added <= MAX_ADDED:
                pieces.append(Piece(cell.text))
    if added > MAX_ADDED:
        notes.append(f"it has {added:,} added cells; the first {MAX_ADDED} of them are run")
    notes += [f"the solution cell of {task} is missing" for task in stubs if not seen[task]]
    notes += [
        f"the solution cell of {task} is there {count} times: they run in order"
        for task, count in seen.items()
        if count > 1
    ]
    return Submission(tuple(pieces), tuple(notes), frozenset(unused))
