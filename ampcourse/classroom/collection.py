"""Sorts what was handed in by student and lesson, and says what was odd about it."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from ampcourse.classroom.deadline import Deadlines
from ampcourse.classroom.search import Found, search
from ampcourse.classroom.student import Student, is_copy, lesson_named, owner
from ampcourse.courseware.course import Course
from ampcourse.courseware.source import Lesson
from ampcourse.courseware.submission import SubmissionError, lesson_of

LONG_AGO = datetime.min.replace(tzinfo=datetime.now().astimezone().tzinfo)


class Catalogue(Course):
    """A course that reads each lesson once."""

    @cache  # noqa: B019 - one catalogue lives as long as its command
    def lesson(self, slug: str) -> Lesson:
        return super().lesson(slug)


@dataclass(frozen=True)
class Handed:
    """One notebook handed in; `problem` says why it cannot be read, if so."""

    student: Student
    lesson: str
    path: Path
    shown: str
    attempt: int = 0
    moment: datetime | None = None
    late: bool = False
    rank: tuple[bool, bool] = (True, True)  # named after the lesson, no copy
    remarks: tuple[str, ...] = ()
    problem: str = ""

    @property
    def order(self) -> tuple[object, ...]:
        """The key by which the later of two comes last."""
        return self.attempt, *self.rank, self.moment or LONG_AGO, self.shown


@dataclass
class Collection:
    """What to grade, and what to tell the teacher."""

    handed: list[Handed] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)  # students who are not on the roster


def collect(
    course: Course,
    paths: list[Path],
    scratch: Path,
    lessons: Iterable[str] = (),
    deadlines: Deadlines | None = None,
    roster: dict[str, str] | None = None,
) -> Collection:
    """Find the notebooks under `paths`, one for each student and lesson.

    `lessons` limits which are taken. Without a `roster` of ids and names, everyone who handed
    in something counts as a member of the class. Raises ArchiveError, ValueError.
    """
    wanted, deadlines = set(lessons), deadlines or Deadlines()
    collection, handed = Collection(), []
    for found in search(paths, scratch, course.slugs):
        if not found.is_notebook:
            collection.strays.append(found.shown)
            continue
        item = identify(course, found, deadlines)
        if not item.lesson:
            collection.unmatched.append(f"{item.shown}: {item.problem}")
        elif not wanted or item.lesson in wanted:
            handed.append(item)
    collection.handed = choose(namesakes_apart(handed), collection.superseded)
    add_missing(collection, wanted, roster)
    return collection


def identify(course: Course, found: Found, deadlines: Deadlines) -> Handed:
    """Tell whose a file is and which lesson it holds; its content outweighs its name."""
    whose = owner(found.place, found.root, course.slugs)
    named = lesson_named(whose.own_name, course.slugs)
    folders = [lesson_named(part, course.slugs) for part in found.place.parts[:-1]]
    folder = next(filter(None, folders), "")
    lesson, problem = named or folder, found.problem
    if not problem:
        try:
            lesson = lesson_of(course, found.path).slug
        except SubmissionError as error:
            problem = str(error)
    remarks = []
    if lesson and not named:
        remarks.append(f"{whose.own_name} is not named after the lesson: matched by its content")
    elif lesson and lesson != named:
        remarks.append(f"{whose.own_name} holds the lesson {lesson}: its content counts")
    if lesson and folder and lesson != folder:
        remarks.append(f"it lay in the folder of {folder}: its content counts")
    late = whose.late or deadlines.passed(lesson, found.moment)
    if late and not whose.late and found.by == "date":
        remarks.append("late by the date of its file, which copying may have changed")
    return Handed(
        whose.student, lesson, found.path, found.shown, whose.attempt, found.moment, late,
        (bool(named), not is_copy(whose.own_name) or whose.attempt > 0), tuple(remarks), problem,
    )  # fmt: skip


def namesakes_apart(handed: list[Handed]) -> list[Handed]:
    """Add Moodle's number to names that several participants of one lesson share."""
    numbers = defaultdict(set)
    for item in handed:
        numbers[item.lesson, item.student.id].add(item.student.reference)
    shared = {student for (_, student), found in numbers.items() if len(found) > 1}
    return [
        replace(item, student=replace(item.student, id=f"{item.student.id} ({number})"))
        if item.student.id in shared and (number := item.student.reference)
        else item
        for item in handed
    ]


def choose(handed: list[Handed], superseded: list[str]) -> list[Handed]:
    """Keep the last attempt of each student at each lesson; say which that was."""
    groups: dict[tuple[str, str], list[Handed]] = defaultdict(list)
    for item in handed:
        groups[item.lesson, item.student.id].append(item)
    chosen = []
    for _, items in sorted(groups.items()):
        *others, last = sorted(items, key=lambda item: item.order)
        for other in others:
            superseded.append(f"{other.shown}: {last.shown} counts instead")
        if others:
            last = replace(last, remarks=(*last.remarks, f"one of {len(items)} files handed in"))
        chosen.append(last)
    return chosen


def add_missing(collection: Collection, wanted: set[str], roster: dict[str, str] | None) -> None:
    """Note who handed in nothing for a lesson that others, or the teacher, named."""
    there: dict[str, set[str]] = defaultdict(set)
    for item in collection.handed:
        there[item.lesson] |= {item.student.id, item.student.name, item.student.reference}
    ids = Counter(item.student.id for item in collection.handed)
    members = roster if roster is not None else dict.fromkeys(ids, "")
    for lesson in sorted(wanted or there):
        lacking = [
            student
            for student, name in members.items()
            if student not in there[lesson] and not (name and name in there[lesson])
        ]
        collection.missing[lesson] = sorted(lacking)
    if roster is not None:
        known = {*roster, *roster.values()}
        collection.unknown = sorted(
            {
                item.student.id
                for item in collection.handed
                if not known & {item.student.id, item.student.name, item.student.reference} - {""}
            }
        )
