"""Moments: when something was handed in, and until when it was to be."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ampcourse.courseware.course import Course

EXAMPLE = "2026-12-01T23:59 or 01=2026-12-01T23:59, in local time unless it ends in +01:00"


@dataclass(frozen=True)
class Deadlines:
    """One deadline for all lessons, or one each."""

    general: datetime | None = None
    lessons: dict[str, datetime] = field(default_factory=dict)

    def passed(self, lesson: str, moment: datetime | None) -> bool:
        """Return whether a moment lies after a lesson's deadline; False if either is unknown."""
        due = self.lessons.get(lesson, self.general)
        return due is not None and moment is not None and moment > due


def read_deadlines(course: Course, words: list[str]) -> Deadlines:
    """Read `WHEN` and `LESSON=WHEN`; raises ValueError, CourseError for a lesson unknown."""
    general, lessons = None, {}
    for word in words:
        lesson, _, moment = word.rpartition("=")
        if lesson:
            lessons[course.select([lesson])[0]] = read_moment(moment)
        else:
            general = read_moment(moment)
    return Deadlines(general, lessons)


def read_moment(text: str) -> datetime:
    """Read a date and time, local unless it has an offset; a date alone means its end."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no date and time: write {EXAMPLE}") from None
    if re.fullmatch(r"\d{4}-?\d\d-?\d\d", text):
        moment = moment.replace(hour=23, minute=59, second=59)
    return moment.astimezone()


def read_timestamp(text: str) -> datetime | None:
    """Read nbgrader's timestamp.txt, such as `2026-11-30 12:00:00.000000 UTC`."""
    try:
        moment = datetime.fromisoformat(re.sub(r" (UTC|GMT)$", "+00:00", text.strip()))
    except ValueError:
        return None
    return moment.astimezone()


def file_date(path: Path) -> datetime | None:
    """Return when a file was last written, to the second."""
    try:
        return datetime.fromtimestamp(int(path.stat().st_mtime)).astimezone()
    except OSError:
        return None


def now() -> datetime:
    """Return the present moment, to the second."""
    return datetime.now().astimezone().replace(microsecond=0)
