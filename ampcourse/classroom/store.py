"""The results folder: a file for each student and lesson, written as soon as it is known."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ampcourse.classroom.collection import Collection
from ampcourse.classroom.files import file_stem, write_whole
from ampcourse.classroom.record import Record, from_json, to_json

OURS = "# Written by ampcourse: students' results do not belong into version control.\n*\n"


@dataclass(frozen=True)
class Store:
    """A folder of results; each of its files is whole, whatever stops the grading."""

    folder: Path

    def open(self) -> None:
        """Make the folder; raises ValueError for one that holds something else."""
        mark = self.folder / ".gitignore"
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: name a folder for the results")
        if self.folder.is_dir() and any(self.folder.iterdir()) and not mark.exists():
            raise ValueError(
                f"{self.folder} holds other things than results: name another folder with "
                "--results, which is made if it is not there"
            )
        write_whole(mark, OURS.encode())

    def path(self, lesson: str, student: str) -> Path:
        return self.folder / "results" / lesson / f"{file_stem(student)}.json"

    def page(self, student: str) -> Path:
        return self.folder / "feedback" / f"{file_stem(student)}.html"

    @property
    def class_page(self) -> Path:
        return self.folder / "class.html"

    def keep(self, record: Record) -> None:
        """Write a record in place of an older one; raises OSError."""
        write_whole(self.path(record.lesson, record.student), to_json(record))

    def find(self, lesson: str, student: str) -> Record | None:
        """Return a record, or None where there is none that can be read."""
        try:
            return from_json(self.path(lesson, student).read_bytes())
        except (OSError, ValueError):
            return None

    def records(self) -> Iterator[Record]:
        """Yield all records, by lesson and student; raises ValueError for a file that is none."""
        for path in sorted(self.folder.glob("results/*/*.json")):
            try:
                yield from_json(path.read_bytes())
            except ValueError as error:
                raise ValueError(f"{path}: {error}; grade again to replace it") from None

    def keep_collection(self, collection: Collection) -> None:
        """Keep what collecting found, for the class page."""
        content = asdict(collection)
        del content["handed"]
        text = json.dumps(content, indent=1, ensure_ascii=False)
        write_whole(self.folder / "collection.json", text.encode("utf-8", "replace"))

    def collection(self) -> Collection:
        """Return what collecting found last, without the notebooks."""
        try:
            content: dict[str, Any] = json.loads((self.folder / "collection.json").read_bytes())
            return Collection(**content)
        except (OSError, ValueError, TypeError):
            return Collection()
