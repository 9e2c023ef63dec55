"""Writes marks into nbgrader's gradebook, through nbgrader's own interface."""

import os
import sys
from pathlib import Path
from typing import Any

from ampcourse.classroom.filling import Outcome
from ampcourse.classroom.record import Record


def fill_gradebook(path: Path, records: list[Record]) -> Outcome:
    """Enter automatic scores and comments; assignments and students are added where missing.

    What a person entered by hand, manual scores and comments, stays. Raises ValueError where
    nbgrader is not installed or the file is no gradebook of this course's.
    """
    try:
        from nbgrader.api import Gradebook
    except ImportError:
        raise ValueError('nbgrader is not installed: pip install "nbgrader>=0.9.5"') from None
    from sqlalchemy.exc import SQLAlchemyError

    # nbgrader calls alembic by name, which lies beside the interpreter.
    programs = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    outcome = Outcome()
    try:
        with Gradebook(f"sqlite:///{path}") as book:
            for record in records:
                if record.score is None:
                    reason = "could not be graded, so there is no mark"
                    outcome.left.append(f"{record.called}, {record.lesson}: {reason}")
                else:
                    enter(book, record)
                    outcome.filled += 1
    except SQLAlchemyError as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path} is no gradebook that nbgrader can write ({reason})") from None
    return outcome


def enter(book: Any, record: Record) -> None:
    """Enter one record: an assignment with one notebook, both called like the lesson."""
    from nbgrader.api import MissingEntry

    lesson = record.lesson
    book.update_or_create_assignment(lesson)
    book.update_or_create_notebook(lesson, lesson)
    for task in record.report.tasks:
        book.update_or_create_grade_cell(
            f"{task.id}_check", lesson, lesson, max_score=task.points, cell_type="code"
        )
        book.update_or_create_solution_cell(task.id, lesson, lesson)
    book.update_or_create_student(record.student)
    about = {"timestamp": record.submitted} if record.submitted else {}
    try:
        for task in record.report.tasks:
            book.find_grade(f"{task.id}_check", lesson, lesson, record.student)
        book.update_or_create_submission(lesson, record.student, **about)
    except MissingEntry:  # none yet, or one from before a task was added, which lacks its cell
        remove(book, lesson, record.student)
        book.add_submission(lesson, record.student, **about)
    for task in record.report.tasks:
        grade = book.find_grade(f"{task.id}_check", lesson, lesson, record.student)
        grade.auto_score, grade.needs_manual_grade = task.score, False
        comment = book.find_comment(task.id, lesson, lesson, record.student)
        comment.auto_comment = task.note or "\n".join(map(str, task.failures))
    book.db.commit()


def remove(book: Any, lesson: str, student: str) -> None:
    """Remove a submission whose cells are not the assignment's, unless a person marked it."""
    from nbgrader.api import MissingEntry

    try:
        old = book.find_submission(lesson, student)
    except MissingEntry:
        return
    for notebook in old.notebooks:
        if any(grade.manual_score is not None for grade in notebook.grades):
            raise ValueError(
                f"{student} has marks by hand in {lesson}, whose cells are not the ones in the "
                "gradebook: run nbgrader generate_assignment for it first"
            )
    book.remove_submission(lesson, student)
