"""How fast the hardware runs at the moment, where there is somebody to ask: NVML or nvidia-smi.

Clocks fall when a GPU is warm or short of power, and a load of other programs slows a CPU: both
belong beside a measurement.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

# What nvidia-smi is asked for and what it is called in a row.
_QUERY = {
    "clocks.sm": "sm_mhz",
    "clocks.max.sm": "sm_max_mhz",
    "clocks.mem": "memory_mhz",
    "temperature.gpu": "temperature_c",
    "power.draw": "power_w",
}


def gpu_clocks(uuid: str) -> dict[str, float] | None:
    """Return clocks in MHz, temperature in °C and power in W of the GPU with this UUID.

    None where neither NVML (nvidia-ml-py) nor nvidia-smi is there or answers.
    """
    return _by_nvml(uuid) or _by_smi(uuid)


def gpu_driver(uuid: str) -> str | None:
    """Return the version of the GPU's driver, or None where nobody tells it."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except Exception:
        answer = _smi(uuid, ["driver_version"])
        return answer[0] if answer else None


def cpu_clocks() -> dict[str, float | None]:
    """Return the median clock of the CPU's cores in MHz and the load of the last minute.

    The load counts all running processes, ours among them; None for what the system hides.
    """
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    return {"mhz": _cpu_mhz(), "load_1_min": load}


def _cpu_mhz(path: Path = Path("/proc/cpuinfo")) -> float | None:
    if not path.is_file():
        return None
    lines = path.read_text().splitlines()
    clocks = [float(line.split(":")[1]) for line in lines if line.startswith("cpu MHz")]
    return round(median(clocks), 1) if clocks else None


def _by_nvml(uuid: str) -> dict[str, float] | None:
    # Whatever goes wrong here must not end a measurement: the numbers are a courtesy.
    try:
        import pynvml as nvml

        nvml.nvmlInit()
        gpu: Any = nvml.nvmlDeviceGetHandleByUUID(uuid)
        return {
            "sm_mhz": float(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)),
            "sm_max_mhz": float(nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_SM)),
            "memory_mhz": float(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM)),
            "temperature_c": float(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)),
            "power_w": nvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
        }
    except Exception:
        return None


def _by_smi(uuid: str) -> dict[str, float] | None:
    answer = _smi(uuid, list(_QUERY))
    if answer is None or len(answer) != len(_QUERY):
        return None
    found = {}
    for name, text in zip(_QUERY.values(), answer, strict=True):
        try:
            found[name] = float(text)
        except ValueError:  # "[N/A]": this GPU does not say
            continue
    return found or None


def _smi(uuid: str, fields: list[str]) -> list[str] | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    ask = [tool, "-i", uuid, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = answer.stdout.strip().splitlines()
    if answer.returncode or not lines:
        return None
    return [text.strip() for text in lines[0].split(",")]
