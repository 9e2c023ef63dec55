"""Where something happened: the module that was running and the line of the user's code."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

import torch

_OURS = Path(__file__).resolve().parents[1]
# Frames in these folders are machinery; the line looked for is that of whoever called it.
_MACHINERY = (
    str(Path(torch.__file__).parent) + os.sep,
    str(_OURS / "diagnose") + os.sep,
    str(_OURS / "amp") + os.sep,
    sysconfig.get_paths()["stdlib"] + os.sep,
    "<frozen ",
    "<string>",
)
_SITE = f"{os.sep}site-packages{os.sep}"


@dataclass(frozen=True)
class Place:
    """The path and class of the running module, "" outside of any, and the user's line."""

    module: str
    module_class: str
    line: str

    @property
    def where(self) -> str:
        """The module path if a module was running, else file:line."""
        return self.module or self.line

    def __str__(self) -> str:
        if not self.module:
            return self.line
        return f"{self.module} ({self.module_class}, {self.line})"


def user_line() -> str:
    """Return file:line of the innermost frame that is neither torch's, Python's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return line_text(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return "unknown line"


@cache
def is_user_file(filename: str) -> bool:
    """Return whether a file is the user's: what a message should point at."""
    if _SITE in filename and not filename.startswith(_MACHINERY):
        return True  # a library of models, under the standard library's folder
    return not filename.startswith(_MACHINERY)


def line_text(filename: str, line: int) -> str:
    """Return file:line, short: relative to the working directory where it lies below it."""
    return f"{_short(filename, os.getcwd())}:{line}"


@cache
def _short(filename: str, folder: str) -> str:
    if "ipykernel_" in filename or filename.startswith("<ipython"):
        return "notebook cell"
    try:
        return os.fspath(Path(filename).resolve().relative_to(folder))
    except ValueError:
        return os.path.basename(filename)
