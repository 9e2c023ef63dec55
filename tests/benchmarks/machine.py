"""The machine that a benchmark's figures belong to."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> str:
    """Name the processor, its cores and the load on them."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((x.split(": ")[1] for x in lines if x.startswith("model name")), model)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{model}, {os.cpu_count()} cores{load}, {platform.system()}"
