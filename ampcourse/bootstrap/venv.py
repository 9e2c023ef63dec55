"""The `.venv` of a clone: where its parts are, and whether it is whole."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ampcourse.bootstrap.requirements import fingerprint, missing, requirements

OLDEST_PYTHON = (3, 11)

_ASK = """
import json, sys, sysconfig
print(json.dumps([sys.version_info[:2], sys.prefix, sysconfig.get_path("purelib")]))
"""


@dataclass(frozen=True)
class Answer:
    """What the Python of a `.venv` says about itself."""

    python: tuple[int, int]
    prefix: Path
    site_packages: Path


@dataclass(frozen=True)
class Venv:
    """The virtual environment that belongs to a clone, there or not."""

    clone: Path

    @property
    def folder(self) -> Path:
        return self.clone / ".venv"

    @property
    def programs(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        return self.programs / ("python.exe" if os.name == "nt" else "python")

    @property
    def stamp(self) -> Path:
        """The file that tells how far the installation got."""
        return self.folder / "ampcourse-stamp.json"

    @property
    def pyproject(self) -> Path:
        return self.clone / "pyproject.toml"

    def is_current(self) -> bool:
        """Tell whether this very process runs in the `.venv`."""
        return self.folder.is_dir() and os.path.samefile(sys.prefix, self.folder)

    def ask(self) -> Answer | None:
        """Ask the `.venv`'s Python who it is; None if it does not run or is not its own.

        A Python that was updated or removed since, or a folder that was copied, shows here.
        """
        try:
            result = subprocess.run(
                [self.python, "-I", "-c", _ASK],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=60,
                check=True,
            )
            python, prefix, site_packages = json.loads(result.stdout.splitlines()[-1])
            if not os.path.samefile(prefix, self.folder) or not os.path.isdir(site_packages):
                return None
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            return None
        return Answer((python[0], python[1]), Path(prefix), Path(site_packages))

    def whole_stamp(self) -> bytes | None:
        """Return the stamp as it lies on disk if the last installation ended well."""
        return self.stamp.read_bytes() if self._read_stamp().get("whole") else None

    def stamped_extras(self) -> set[str]:
        """Return the extras that were installed here, or about to be when it broke off."""
        return set(self._read_stamp().get("extras", []))

    def is_ready(self, extras: Iterable[str]) -> bool:
        """Tell whether an installation with these extras ended well and still fits.

        It no longer fits if pyproject.toml asks for something else, the clone was moved, the
        Python under it changed, or a package was removed.
        """
        stamp = self._read_stamp()
        if not stamp.get("whole") or stamp.get("fingerprint") != fingerprint(self.pyproject):
            return False
        if not set(extras) <= self.stamped_extras():
            return False
        answer = self.reusable()
        if answer is None:
            return False
        return not missing(requirements(self.pyproject, extras), [str(answer.site_packages)])

    def reusable(self) -> Answer | None:
        """Return the answer of a `.venv` that pip can go on with; None if it must be made anew.

        The paths inside a `.venv` do not survive a move, nor its packages another Python. One
        that somebody made by hand has no stamp and is gone on with as well.
        """
        answer = self.ask()
        stamp = self._read_stamp()
        if answer is None or answer.python < OLDEST_PYTHON:
            return None
        if stamp.get("folder", str(self.folder)) != str(self.folder):
            return None
        if stamp.get("python", list(answer.python)) != list(answer.python):
            return None
        return answer

    def write_stamp(self, extras: Iterable[str], python: tuple[int, int], whole: bool) -> None:
        """Record how far the installation got, in one step that cannot be half done."""
        content = {
            "whole": whole,
            "fingerprint": fingerprint(self.pyproject),
            "extras": sorted(extras),
            "python": python,
            "folder": str(self.folder),
        }
        if whole and hasattr(os, "sync"):
            os.sync()  # after a power cut the stamp must not be there without the packages
        self.restore_stamp((json.dumps(content, indent=1) + "\n").encode())

    def restore_stamp(self, content: bytes) -> None:
        """Write a stamp's content in one step."""
        draft = self.stamp.with_suffix(".draft")
        draft.write_bytes(content)
        os.replace(draft, self.stamp)

    def _read_stamp(self) -> dict[str, Any]:
        try:
            content = json.loads(self.stamp.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}
