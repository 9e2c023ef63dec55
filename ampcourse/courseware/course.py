"""Where the course's files are: sources, derived notebooks, and the lessons by number."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ampcourse.courseware.source import Lesson, read_lesson


class CourseError(ValueError):
    """A course folder or a lesson that is not there; the text says what to try."""


@dataclass(frozen=True)
class Course:
    """A clone of the course."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "notebooks" / "source"

    @property
    def learner(self) -> Path:
        return self.root / "notebooks"

    @property
    def instructor(self) -> Path:
        return self.root / "notebooks" / "instructor"

    @cached_property
    def slugs(self) -> tuple[str, ...]:
        """The names of the lessons that exist, in order."""
        return tuple(sorted(path.stem for path in self.source.glob("[0-9][0-9]_*.py")))

    def lesson(self, slug: str) -> Lesson:
        """Read one lesson by its full name."""
        return read_lesson(self.source / f"{slug}.py")

    def select(self, names: list[str]) -> list[str]:
        """Return the slugs that `names` mean, numbers or full names; all for an empty list."""
        chosen = []
        for name in names:
            found = [slug for slug in self.slugs if name in (slug, slug[:2], str(int(slug[:2])))]
            if not found:
                raise CourseError(f"no lesson {name!r}; there are {', '.join(self.slugs)}")
            chosen += found
        return chosen or list(self.slugs)


def find_course(start: Path | None = None) -> Course:
    """Find the course that holds `start`, the working folder, or else this package."""
    places = [(start or Path.cwd()).resolve(), Path(__file__).resolve().parents[2]]
    for place in places:
        for folder in (place, *place.parents):
            if (folder / "notebooks" / "source").is_dir():
                return Course(folder)
    raise CourseError(
        "no course sources here: building and grading need a clone of the course "
        "(a folder with notebooks/source); change into it and try again"
    )
