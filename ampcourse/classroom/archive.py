"""Takes the notebooks out of a zip file that somebody else has made."""

import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from ampcourse.courseware.submission import MAX_BYTES

MAX_ENTRIES = 20_000
MAX_TOTAL = 2_000_000_000
ENCRYPTED = 0x1
UTF8 = 0x800


class ArchiveError(ValueError):
    """An archive that is not opened; the text says why and what to do."""


@dataclass(frozen=True)
class Member:
    """One file of an archive: its path there, where its content lies now, or what is wrong."""

    place: PurePosixPath
    path: Path
    written: datetime | None
    problem: str = ""


def unpack(archive: Path, folder: Path, wanted: re.Pattern[str]) -> Iterator[Member]:
    """Write the wanted files into `folder`, under names of ours, and yield them.

    Nothing is written outside `folder` whatever the entries are called. Raises ArchiveError
    for an archive that is broken, encrypted, or made to do harm.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            refuse_bombs(archive, entries)
            places = [checked_place(archive, entry) for entry in entries]
            for index, (entry, place) in enumerate(zip(entries, places, strict=True)):
                if not entry.is_dir() and wanted.search(place.name):
                    yield take_out(opened, entry, place, folder / f"{index}.ipynb")
                elif not entry.is_dir():
                    yield Member(place, folder / "none", written(entry))
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise ArchiveError(
            f"{archive} is no complete zip file ({error}): download it again"
        ) from None


def refuse_bombs(archive: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Raise ArchiveError if unpacking would take more than a class can have handed in."""
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES or total > MAX_TOTAL:
        raise ArchiveError(
            f"{archive} holds {len(entries):,} files of {total:,} bytes in all; at most "
            f"{MAX_ENTRIES:,} and {MAX_TOTAL:,} are unpacked: split it, or look what is in it"
        )


def checked_place(archive: Path, entry: zipfile.ZipInfo) -> PurePosixPath:
    """Return an entry's path; raises ArchiveError for one that leads out of the archive."""
    name = readable_name(entry).replace("\\", "/")
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or re.match(r"[A-Za-z]:", name):
        raise ArchiveError(
            f"{archive} holds {name!r}, a path that leads out of the archive: nothing of it is "
            "used. Ask whoever made it"
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise ArchiveError(f"{archive} holds the link {name!r}: nothing of it is used")
    if entry.flag_bits & ENCRYPTED:
        raise ArchiveError(f"{archive} is encrypted: unpack it yourself and give the folder")
    return place


def readable_name(entry: zipfile.ZipInfo) -> str:
    """Return an entry's name, in UTF-8 where that was written without saying so."""
    if entry.flag_bits & UTF8:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def take_out(
    opened: zipfile.ZipFile, entry: zipfile.ZipInfo, place: PurePosixPath, path: Path
) -> Member:
    """Write one entry's content, or say why it has none."""
    date = written(entry)
    if entry.file_size > MAX_BYTES:
        problem = f"it has {entry.file_size:,} bytes; at most {MAX_BYTES:,} are read"
        return Member(place, path, date, problem)
    try:
        with opened.open(entry) as file:
            content = file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        return Member(place, path, date, f"it cannot be taken out of the archive ({error})")
    path.write_bytes(content[:MAX_BYTES])
    return Member(place, path, date)


def written(entry: zipfile.ZipInfo) -> datetime | None:
    """Return when the file was written; a zip file keeps the local time of its maker."""
    try:
        moment = datetime(*entry.date_time)
        return moment.astimezone() if moment.year > 1980 else None
    except (ValueError, OverflowError, OSError):
        return None
