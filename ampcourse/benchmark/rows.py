"""Result rows: one JSON object a line, in a file that only grows.

A row reaches the disk before the next one is measured, so that whatever ends the process later
costs no row that was there.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]

KINDS = ("throughput", "training", "largest_batch", "gemm", "failure")
STATUSES = ("ok", "out_of_memory", "failed", "skipped", "interrupted")


class BrokenRow(ValueError):
    """A line that is no row, elsewhere than at a file's end."""


def append(path: str | os.PathLike[str], row: Mapping[str, Any]) -> None:
    """Add a row to the end of a file, which need not exist, and wait until it is on the disk.

    Where the file ends within a line, as a killed process leaves it, the row begins a new one.
    Raises ValueError for a row without a known kind and status, TypeError for a value that JSON
    has no form for, and OSError where the file cannot be written. NaN and infinity become null.
    """
    _check(row)
    line = json.dumps(_finite(row), ensure_ascii=False, allow_nan=False) + "\n"
    with open(path, "ab") as file:
        if _ends_within_a_line(path):
            file.write(b"\n")
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def read(path: str | os.PathLike[str]) -> list[Row]:
    """Return the rows of a file, in order.

    A last line that breaks off is left out, with a UserWarning that says so. Raises BrokenRow, a
    ValueError that names file and line, for any other line that is no row.
    """
    data = Path(path).read_bytes()
    lines = data.split(b"\n")
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_row(line))
        except ValueError as error:
            # What was written whole ends with a newline; a later append puts one after a rest.
            if number == len(lines) or _begins_a_row(line):
                warnings.warn(
                    f"{path}, line {number} breaks off, as where a process was killed; it is "
                    f"left out, the {len(found)} rows before it are whole",
                    stacklevel=2,
                )
                continue
            raise BrokenRow(
                f"{path}, line {number} is no result row ({error}); a row is a JSON object with "
                f"a kind ({', '.join(KINDS)}) and a status. Is it a file of ampcourse benchmark?"
            ) from error
    return found


def _row(line: bytes) -> Row:
    row = json.loads(line)
    _check(row)
    found: Row = row
    return found


def _check(row: Any) -> None:
    if not isinstance(row, Mapping):
        raise ValueError(f"a row is an object, not {type(row).__name__}")
    for name, known in (("kind", KINDS), ("status", STATUSES)):
        if row.get(name) not in known:
            raise ValueError(f"{name}={row.get(name)!r} is unknown; choose from {', '.join(known)}")


def _begins_a_row(line: bytes) -> bool:
    # A JSON object that breaks off: the decoder wants more, and finds nothing wrong before.
    if not line.startswith(b"{"):
        return False
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return error.pos >= len(error.doc) or error.msg.startswith("Unterminated string")
    except UnicodeDecodeError:
        return True
    return False


def _finite(value: Any) -> Any:
    """Return JSON data without NaN and infinity, which JSON cannot hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _ends_within_a_line(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
