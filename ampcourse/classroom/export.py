"""Chooses what an export is made from and writes it, whole or not at all."""

import argparse

from ampcourse.classroom.canvas import canvas_column, fill_canvas
from ampcourse.classroom.files import write_whole
from ampcourse.classroom.filling import Outcome
from ampcourse.classroom.gradebook import fill_gradebook
from ampcourse.classroom.moodle import fill_moodle
from ampcourse.classroom.record import Record
from ampcourse.classroom.table import as_csv, as_json
from ampcourse.classroom.worksheet import Worksheet, read_worksheet
from ampcourse.courseware.course import Course


def export(course: Course, records: list[Record], options: argparse.Namespace) -> Outcome:
    """Export records as the command line says; raises ValueError for what does not fit."""
    if options.lesson:
        lesson = course.select([options.lesson])[0]
        records = [record for record in records if record.lesson == lesson]
    if not records:
        raise ValueError("there are no results to export: grade first")
    if options.kind == "nbgrader":
        return fill_gradebook(options.out, records)
    if options.kind in ("csv", "json"):
        content = as_csv(records) if options.kind == "csv" else as_json(records)
        write_whole(options.out, content)
        return Outcome(sum(record.score is not None for record in records))
    sheet, outcome = filled_sheet(course, records, options)
    write_whole(options.out, sheet.content())
    return outcome


def filled_sheet(
    course: Course, records: list[Record], options: argparse.Namespace
) -> tuple[Worksheet, Outcome]:
    """Fill in the sheet that Canvas or Moodle exported, one lesson's marks."""
    lessons = {record.lesson for record in records}
    if len(lessons) > 1:
        raise ValueError(f"name one lesson with --lesson: there are {', '.join(sorted(lessons))}")
    if not options.sheet:
        raise ValueError(f"name the file that {options.kind} exported with --sheet")
    if options.out.exists() and options.out.samefile(options.sheet):
        raise ValueError(f"{options.out} is the sheet itself: write to another file")
    sheet = read_worksheet(options.sheet)
    if options.kind == "moodle":
        return sheet, fill_moodle(sheet, records, options.scale)
    title = course.lesson(lessons.pop()).title
    column = canvas_column(sheet, options.column or title)
    return sheet, fill_canvas(sheet, records, column, options.scale)
