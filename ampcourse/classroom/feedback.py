"""Writes the pages of a results folder: one for each student, one for the class."""

import re
from collections import defaultdict
from dataclasses import dataclass

from ampcourse.classroom.deadline import now
from ampcourse.classroom.files import file_stem, write_whole
from ampcourse.classroom.overview import figures, state
from ampcourse.classroom.page import render
from ampcourse.classroom.record import Record
from ampcourse.classroom.store import Store
from ampcourse.courseware.course import Course
from ampcourse.courseware.source import HEADING, Lesson

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """What a page says about a lesson: its title, and the section each task belongs to."""

    slug: str
    title: str
    sections: dict[str, str]


def chapter(course: Course, slug: str) -> Chapter:
    """Return a lesson's chapter; only its name, where this course does not have it any more."""
    if slug not in course.slugs:
        return Chapter(slug, slug, {})
    lesson = course.lesson(slug)
    return Chapter(slug, lesson.title, sections(lesson))


def sections(lesson: Lesson) -> dict[str, str]:
    """Return, for each task, the heading of the section that leads up to it."""
    found, current = {}, lesson.title
    for cell in lesson.cells:
        if cell.part != "prose":
            continue
        for line in cell.text.split("\n"):
            if heading := SECTION.match(line):
                current = heading[1]
            elif task := HEADING.match(line):
                found[task[1]] = current
    return found


def write_pages(course: Course, store: Store) -> int:
    """Write all pages and return how many students have one; raises OSError, ValueError."""
    records = list(store.records())
    chapters = {slug: chapter(course, slug) for slug in sorted({one.lesson for one in records})}
    students: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        students[record.student].append(record)
    for student, own in students.items():
        write_whole(store.page(student), student_page(own, chapters).encode("utf-8", "replace"))
    page = class_page(store, records, chapters)
    write_whole(store.class_page, page.encode("utf-8", "replace"))
    return len(students)


def student_page(records: list[Record], chapters: dict[str, Chapter]) -> str:
    """Return the page of one student: marks, and for each lost mark why."""
    return render(
        "student.html",
        records=records,
        chapters=chapters,
        student=records[0].called,
        state=state,
        made=now().strftime("%Y-%m-%d"),
    )


def class_page(store: Store, records: list[Record], chapters: dict[str, Chapter]) -> str:
    """Return the page of the class."""
    collection = store.collection()
    found = {record.student: record.called for record in records}
    absent = {student for missing in collection.missing.values() for student in missing}
    names = {**dict.fromkeys(absent, ""), **found}
    return render(
        "class.html",
        lessons=[figures(slug, records, collection.missing.get(slug, ())) for slug in chapters],
        chapters=chapters,
        collection=collection,
        names=names,
        students=sorted(names),
        stems={student: file_stem(student) for student in found},
        by_student={(record.student, record.lesson): record for record in records},
        made=now().strftime("%Y-%m-%d %H:%M"),
    )
