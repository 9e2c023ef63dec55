"""Compare FP32 with mixed precision on this machine, now.

To make a record for the course: `python -m ampcourse.benchmark.live --repeats 5 --save NAME`
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import subprocess
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from statistics import median
from typing import Any

import torch

from ampcourse.benchmark.records import FOLDER, save
from ampcourse.benchmark.result import Measurement, Result
from ampcourse.training.data import fashion_mnist
from ampcourse.training.hardware import (
    Hardware,
    cpu_model,
    gpu_problem,
    this_cpu,
    this_machine,
)
from ampcourse.training.loop import ENOUGH, WARM_UP, Run, race

# On a GPU the small network would only measure Python: it gets more channels and more images.
SIZES: Mapping[str, dict[str, int]] = {
    "cpu": {"width": 16, "batch": 32, "epochs": 1},
    "cuda": {"width": 256, "batch": 500, "epochs": 10},
}


def compare(hardware: Hardware | None = None, *, repeats: int = 1, seconds: float = 7.0) -> Result:
    """Train the small CNN in FP32 and in mixed precision, taking turns, and return the result.

    Uses the shipped FashionMNIST subset, so that what is installed does not change the numbers.
    On a CPU it uses one core: two threads that wait for each other on busy cores can take many
    times as long and would measure what else the machine does, not its arithmetic. Where a GPU
    does not work or runs out of memory, it takes the CPU, and the result's note says so.

    All of it, from reading the data to measuring accuracy, is done after about `seconds`: the
    trainings stop early, both runs after the same number of steps. Where that leaves too few,
    the result's `doubt` says so. A step's time is the median over the trainings.
    """
    deadline = time.perf_counter() + seconds
    hardware = hardware or this_machine()
    if hardware.device == "cuda":
        try:
            return _result(hardware, _races(hardware, repeats, deadline))
        except RuntimeError as error:
            remark = f"Your GPU {gpu_problem(error)}; the CPU is measured."
            hardware = this_cpu(remark)
    return _result(hardware, _races(hardware, repeats, deadline))


def _races(hardware: Hardware, repeats: int, deadline: float) -> list[list[Run]]:
    data = fashion_mnist(use="subset")
    races = []
    with _one_thread():
        for left in range(repeats, 0, -1):
            share = (deadline - time.perf_counter()) / left
            recipes, size = ("fp32", hardware.amp), SIZES[hardware.device]
            races.append(race(recipes, data, device=hardware.device, seconds=share, **size))
    return races


def _result(hardware: Hardware, races: Sequence[Sequence[Run]]) -> Result:
    baseline, amp = ([race[i] for race in races] for i in (0, 1))
    size = SIZES[hardware.device]
    cpu = hardware.device == "cpu"
    return Result(
        task="small CNN, FashionMNIST subset",
        hardware=f"{hardware.name}, 1 core" if cpu else hardware.name,
        kind="measured",
        unit="ms/step",
        baseline=_measurement(_baseline_precision(hardware), baseline),
        amp=_measurement(hardware.amp, amp),
        date=datetime.now(UTC).date().isoformat(),
        source="python -m ampcourse.benchmark.live",
        driver=_driver(hardware),
        versions=_versions(hardware),
        flags={
            "data": fashion_mnist(use="subset").source,
            "batch": size["batch"],
            "width": size["width"],
            "trainings": len(races),
            "steps": sum(run.steps for run in baseline),
            **_machine_flags(hardware),
        },
        note=hardware.remark,
        doubt=_doubt(baseline),
    )


def _doubt(runs: Sequence[Run]) -> str:
    if all(run.is_believable for run in runs):
        return ""
    fewest = min(run.steps for run in runs)
    return f"too few steps to believe: {fewest}, not {WARM_UP + ENOUGH}"


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _measurement(precision: str, runs: Sequence[Run]) -> Measurement:
    step_ms = median(run.step_ms for run in runs)
    return Measurement(precision, round(step_ms, 3), accuracy=round(runs[0].accuracy, 4))


def _baseline_precision(hardware: Hardware) -> str:
    # PyTorch computes FP32 convolutions in TF32 where the GPU can: then that is the baseline.
    # On an AMD GPU the number is not a capability of NVIDIA's and says nothing about TF32.
    nvidia = hardware.device == "cuda" and torch.version.hip is None
    tf32 = nvidia and torch.cuda.get_device_capability() >= (8, 0)
    return "tf32" if tf32 and _conv_precision() == "tf32" else "fp32"


def _conv_precision() -> str:
    # Read by name: torch's type stubs do not know the module cudnn.conv.
    return str(getattr(torch.backends.cudnn, "conv").fp32_precision)  # noqa: B009


def _machine_flags(hardware: Hardware) -> dict[str, Any]:
    if hardware.device == "cuda":
        return {"conv_fp32_precision": _conv_precision()}
    return {
        **cpu_model(),
        "cores": os.cpu_count(),
        "threads": 1,
        "simd": torch.backends.cpu.get_cpu_capability(),
        "bf16_instructions": hardware.bf16,
        "onednn_bf16": hardware.onednn,
    }


def _versions(hardware: Hardware) -> dict[str, str]:
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    if hardware.device != "cuda":
        return versions
    if torch.version.hip is not None:
        return versions | {"rocm": torch.version.hip}
    return versions | {"cuda": str(torch.version.cuda)}


def _driver(hardware: Hardware) -> str | None:
    tool = shutil.which("nvidia-smi") if hardware.device == "cuda" else None
    if tool is None:
        return None
    ask = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=2)
    except (OSError, subprocess.TimeoutExpired):  # not worth a lesson's time
        return None
    return next(iter(answer.stdout.split()), None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print; with --save, keep the record among those of the course."""
    parser = argparse.ArgumentParser(description="Compare FP32 with mixed precision here.")
    parser.add_argument("--repeats", type=int, default=5, help="trainings per recipe")
    parser.add_argument("--save", metavar="NAME", help="write the record NAME.json")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats}: at least 1 training is needed")
    result = compare(repeats=options.repeats, seconds=math.inf)
    runs = (result.baseline, result.amp)
    values = ", ".join(f"{run.precision} {run.value} ms" for run in runs)
    words = [f"{result.hardware}: {values}, factor {result.speedup:.2f}", result.doubt, result.note]
    print(textwrap.fill(". ".join(filter(None, words)), 80))
    if options.save:
        save(result, FOLDER / f"{options.save}.json")


if __name__ == "__main__":
    main()
