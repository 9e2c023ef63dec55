"""Half-installed packages: what an interrupted pip leaves behind, found and cleared away."""

import base64
import csv
import hashlib
import shutil
from pathlib import Path

_RECORDS = "*.dist-info/RECORD"


def clear_broken(site_packages: Path) -> list[str]:
    """Make pip forget every package whose files are not all there; return their names.

    pip takes a package for installed as soon as its .dist-info folder has a METADATA file,
    which may be before its last file is written. Without that folder pip installs it again and
    writes over what lies there.
    """
    broken = [info for info in site_packages.glob("*.dist-info") if not _is_whole(info)]
    for info in broken:
        shutil.rmtree(info)
    for left_over in site_packages.glob("~*"):  # what pip moved aside to replace it
        shutil.rmtree(left_over, ignore_errors=True)
    return [info.name.removesuffix(".dist-info") for info in broken]


def installed(site_packages: Path) -> set[tuple[str, int]]:
    """Return what pip takes for installed, each with the time it was put there."""
    return {(path.parent.name, path.stat().st_mtime_ns) for path in site_packages.glob(_RECORDS)}


def _is_whole(info: Path) -> bool:
    # pip writes INSTALLER after all of the package's own files.
    if not (info / "INSTALLER").is_file():
        return False
    try:
        with (info / "RECORD").open(newline="", encoding="utf-8") as record:
            rows = list(csv.reader(record))
        return all(_is_as_recorded(info.parent / row[0], row[1]) for row in rows if row[1])
    except (OSError, ValueError, IndexError):
        return False


def _is_as_recorded(path: Path, recorded: str) -> bool:
    algorithm, _, digest = recorded.partition("=")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, algorithm).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode() == digest
