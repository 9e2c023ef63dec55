"""Whether torch.compile has here what it needs to compile with."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

from ampcourse.benchmark.machine import Machine


def compiler_problem(machine: Machine) -> str:
    """Return why nothing can be compiled for a machine, or "".

    For a CPU torch writes C++, for a GPU it writes for Triton, whose launcher is in C.
    """
    if machine.device.type == "cuda" and find_spec("triton") is None:
        return "left out: torch.compile needs the package triton for a GPU, which is not installed"
    gpu = machine.device.type == "cuda"
    asked = os.environ.get("CC" if gpu else "CXX")
    known = ("cc", "gcc", "clang") if gpu else ("g++", "c++", "clang++", "cl")
    if not any(shutil.which(name) for name in ([asked] if asked else known)):
        return (
            f"left out: torch.compile needs a compiler for {'C' if gpu else 'C++'}, and there is "
            f"no {' or '.join([asked] if asked else known)}"
        )
    return ""
