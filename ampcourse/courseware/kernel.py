"""What the grader asks of a kernel, whatever runs the learner's code: limits, replies, faults.

`sandbox` has the kernels; `best_kernels` picks the safest kind that works on this machine.
"""

import ast
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from ampcourse.courseware.source import Lesson


def modules_of(lesson: Lesson) -> list[str]:
    """Return the modules that a lesson's set-up imports, and those it may import from them."""
    found: dict[str, None] = {}
    for cell in lesson.setup:
        for node in ast.walk(ast.parse(cell)):
            if isinstance(node, ast.Import):
                found |= dict.fromkeys(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found[node.module] = None
                # A name may be a submodule; importing one that is none fails without harm.
                found |= dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names)
    return list(found)


@dataclass(frozen=True)
class Limits:
    """Seconds for a cell, a request for checks, each of a notebook's two runs; bytes of memory.

    The memory is counted beyond what the lesson's set-up takes.
    """

    cell: float = 30
    check: float = 10
    notebook: float = 150
    memory: int = 4_000_000_000
    start: float = 90


@dataclass(frozen=True)
class Reply:
    """What one request came to: "ok", "error" (then `error` says which) or "timeout"."""

    status: str
    error: str = ""
    data: Any = None


class KernelLost(Exception):
    """The kernel died or had to be killed; the text completes "the code …"."""


class KernelUnusable(RuntimeError):
    """No kernel could be started or set up: the grader's trouble, never the learner's."""


class Kernel(Protocol):
    """A kernel in which a lesson's set-up has run."""

    #: True once it cannot be used any more or may have been hurt by an interrupt.
    lost: bool

    def execute(self, code: str, seconds: float) -> Reply:
        """Run a cell, interrupt it after `seconds`; raises KernelLost."""
        ...

    def evaluate(self, call: str, seconds: float) -> tuple[dict[str, Any], list[str]]:
        """Return a call's outcome and what `refused` would; raises KernelLost."""
        ...

    def refused(self, seconds: float) -> list[str]:
        """Return the forbidden modules asked for since the last answer; raises KernelLost."""
        ...

    def close(self) -> None:
        """End the kernel with every process it started."""
        ...


class Kernels(Protocol):
    """Starts kernels, one at a time; one object per worker process, closed at its end."""

    #: One line for reports: what the learner's code is kept from.
    protection: str

    def start(self, lesson: Lesson, limits: Limits) -> Kernel:
        """Return a kernel in which the lesson's set-up has run; raises KernelUnusable."""
        ...

    def close(self) -> None:
        """End whatever is kept between submissions."""
        ...

    def __enter__(self) -> "Kernels": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
