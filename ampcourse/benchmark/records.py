"""The comparisons that come with the course, one JSON file each in the folder records."""

from __future__ import annotations

import json
from pathlib import Path

from ampcourse.benchmark.result import KINDS, Result

FOLDER = Path(__file__).parent / "records"


def records(kind: str | None = None) -> list[Result]:
    """Return the shipped records, the largest speed-up first; with `kind`, only those of a kind.

    Raises ValueError for an unknown kind, and for a record that cannot be read, by its name.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind={kind!r} is unknown; choose from {', '.join(KINDS)}")
    found = [load(path) for path in sorted(FOLDER.glob("*.json"))]
    chosen = [result for result in found if kind in (None, result.kind)]
    return sorted(chosen, key=lambda result: -result.speedup)


def load(path: Path) -> Result:
    """Return the record in a JSON file; ValueError, naming the file, if it is none."""
    try:
        return Result.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is not a benchmark record: {error}") from error


def save(result: Result, path: Path) -> None:
    """Write a record as JSON that `load` reads back."""
    text = json.dumps(result.to_json(), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
