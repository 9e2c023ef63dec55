"""Finds notebooks in files, folders and zip files, whatever layout they came in."""

import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath, PurePosixPath

from ampcourse.classroom.archive import Member, unpack
from ampcourse.classroom.deadline import file_date, read_timestamp
from ampcourse.classroom.student import MOODLE, SUFFIX, lesson_named

TIMESTAMP = "timestamp.txt"  # nbgrader's, beside a submission
WANTED = re.compile(SUFFIX.pattern + "|^" + re.escape(TIMESTAMP) + "$", re.IGNORECASE)
SUBMITTED = "submitted"  # nbgrader's folder, beside source, release and autograded


@dataclass(frozen=True)
class Found:
    """A file: its path below `root`'s name, where its content is, and when it was written."""

    place: PurePath
    root: str
    path: Path
    shown: str
    moment: datetime | None = None
    by: str = ""  # what the moment rests on
    problem: str = ""

    @property
    def is_notebook(self) -> bool:
        return SUFFIX.search(self.place.name) is not None


def search(paths: list[Path], scratch: Path, lessons: tuple[str, ...]) -> Iterator[Found]:
    """Yield every file under `paths`; what a zip file holds is written into `scratch`.

    Raises ArchiveError for a zip file that is not opened, ValueError for a path that is not
    there. Links that lead out of a folder are reported, not followed.
    """
    for number, path in enumerate(paths):
        if not path.exists():
            raise ValueError(f"{path} is not there")
        if path.is_dir() and not SUFFIX.search(path.name):
            yield from in_folder(path)
        elif path.is_file() and not SUFFIX.search(path.name) and zipfile.is_zipfile(path):
            folder = scratch / str(number)
            folder.mkdir()
            yield from in_archive(path, folder)
        elif path.suffix.lower() == ".zip":
            yield from in_archive(path, scratch)  # says what is wrong with it
        else:
            place = single(path.resolve(), lessons)
            yield Found(place, path.resolve().parent.name, path, str(path), file_date(path), "date")


def single(path: Path, lessons: tuple[str, ...]) -> PurePath:
    """Return how much of a file's path tells whose it is."""
    if lesson_named(path.parent.name, lessons):
        return PurePath(*path.parts[-3:])
    return PurePath(*path.parts[-2 if MOODLE.fullmatch(path.parent.name) else -1 :])


def in_folder(root: Path) -> Iterator[Found]:
    """Yield the files of a folder, sorted; nbgrader's `submitted` alone where it has one."""
    top = root / SUBMITTED if (root / SUBMITTED).is_dir() else root
    inside = top.resolve()
    for folder, folders, names in os.walk(top):
        opaque = [name for name in folders if SUFFIX.search(name)]
        folders[:] = sorted(name for name in folders if not hidden(name) and name not in opaque)
        stamp = read_stamp(Path(folder) / TIMESTAMP)
        for name in sorted([*names, *opaque]):
            path = Path(folder) / name
            if hidden(name) or name == TIMESTAMP:
                continue
            moment, by = (stamp, "timestamp") if stamp else (file_date(path), "date")
            leads_out = path.is_symlink() and not path.resolve().is_relative_to(inside)
            problem = "it is a link that leads out of the folder" if leads_out else ""
            place = path.relative_to(top)
            yield Found(place, inside.name, path, str(path), moment, by, problem)


def hidden(name: str) -> bool:
    """Return whether a file or folder is no one's work: checkpoints, macOS's records."""
    return name.startswith(".") or name == "__MACOSX"


def read_stamp(path: Path) -> datetime | None:
    """Return the moment that nbgrader noted, if it did."""
    try:
        with path.open(encoding="utf-8") as file:
            return read_timestamp(file.read(100))
    except (OSError, UnicodeDecodeError):
        return None


def in_archive(archive: Path, scratch: Path) -> Iterator[Found]:
    """Yield the files of a zip file, without the folder that all of them lie in."""
    members = [
        member
        for member in unpack(archive, scratch, WANTED)
        if not any(hidden(part) for part in member.place.parts)
    ]
    stamps = {
        member.place.parent: read_stamp(member.path)
        for member in members
        if member.place.name == TIMESTAMP
    }
    for member in members:
        if member.place.name != TIMESTAMP:
            yield from_member(archive, member, stamps.get(member.place.parent), top_of(members))


def top_of(members: list[Member]) -> str:
    """Return the folder that holds all of several members, if there is one."""
    tops = {member.place.parts[0] for member in members if len(member.place.parts) > 1}
    loose = any(len(member.place.parts) == 1 for member in members)
    return tops.pop() if len(tops) == 1 and not loose and len(members) > 1 else ""


def from_member(archive: Path, member: Member, stamp: datetime | None, top: str) -> Found:
    """Return a member of an archive as a file found."""
    moment, by = (stamp, "timestamp") if stamp else (member.written, "date")
    shown = f"{archive}:{member.place}"
    place: PurePosixPath = member.place.relative_to(top) if top else member.place
    return Found(place, archive.stem, member.path, shown, moment, by, member.problem)
