"""What pyproject.toml asks for, and which of it an environment lacks."""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

_NAME_AND_BOUND = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:>=\s*([\d.]+))?\s*")


def requirements(pyproject: Path, extras: Iterable[str]) -> list[str]:
    """Return the requirement lines of the package and of the named extras.

    Raises KeyError for an extra that pyproject.toml does not have.
    """
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    optional = project.get("optional-dependencies", {})
    lines = list(project.get("dependencies", []))
    for extra in sorted(extras):
        lines += optional[extra]
    return lines


def fingerprint(pyproject: Path) -> str:
    """Return a hash of the parts of pyproject.toml that decide what pip installs.

    The settings of linters and of pytest are left out: changing them must not make a learner
    without network reinstall anything.
    """
    content = tomllib.loads(pyproject.read_text("utf-8"))
    parts = [content.get("build-system"), content.get("project")]
    parts.append(content.get("tool", {}).get("setuptools"))
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def missing(lines: Iterable[str], path: Sequence[str] | None = None) -> list[str]:
    """Return the requirement lines that no distribution on `path` meets.

    `path` lists folders as sys.path does, and is sys.path if None. A line in any other form
    than `name`, `name[extra]` or `name>=1.2` counts as missing, so that pip gets to judge it.
    """
    folders = sys.path if path is None else path
    return [line for line in lines if not _is_met(line, folders)]


def _is_met(line: str, folders: Sequence[str]) -> bool:
    match = _NAME_AND_BOUND.fullmatch(line)
    if match is None:
        return False
    name, bound = match.groups()
    found = next(iter(metadata.distributions(name=name, path=list(folders))), None)
    if found is None or not found.version:  # no version: an interrupted installation
        return False
    return bound is None or _release(found.version) >= _release(bound)


def _release(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version without trailing zeros: (2, 9) for "2.9.0+cpu"."""
    leading = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in leading.group().split(".")] if leading else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
