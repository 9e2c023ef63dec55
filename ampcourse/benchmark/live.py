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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from statistics import median
from typing import Any

import torch

from ampcourse.benchmark.records import FOLDER, save
from ampcourse.benchmark.result import Measurement, Result
from ampcourse.training.data import fashion_mnist
from ampcourse.training.hardware import Hardware, cpu_model, this_machine
from ampcourse.training.loop import Run, race

# On a GPU the small network would only measure Python: it gets more channels and more images.
SIZES: Mapping[str, dict[str, int]] = {
    "cpu": {"width": 16, "batch": 32, "epochs": 1},
    "cuda": {"width": 256, "batch": 500, "epochs": 10},
}


def compare(hardware: Hardware | None = None, *, repeats: int = 1, seconds: float = 7.0) -> Result:
    """Train the small CNN in FP32 and in mixed precision, taking turns, and return the result.

    Uses the shipped FashionMNIST subset, so that what is installed does not change the numbers.
    On a CPU it uses one core: two threads that wait for each other on busy cores can take many
    times as long and would measure what else the machine does, not its arithmetic. Each of the
    `repeats` trainings stops early after about `seconds`, both runs after the same number of
    steps; a step's time is the median over the trainings.
    """
    hardware = hardware or this_machine()
    size = SIZES[hardware.device]
    data = fashion_mnist(use="subset")
    recipes = "fp32", hardware.amp
    with _one_thread():
        races = [
            race(recipes, data, device=hardware.device, seconds=seconds, **size)
            for _ in range(repeats)
        ]
    baseline, amp = ([race[i] for race in races] for i in (0, 1))
    return Result(
        task="small CNN, FashionMNIST subset",
        hardware=hardware.name,
        kind="measured",
        unit="ms/step",
        baseline=_measurement(_baseline_precision(hardware), baseline),
        amp=_measurement(hardware.amp, amp),
        date=datetime.now(UTC).date().isoformat(),
        source="python -m ampcourse.benchmark.live",
        driver=_driver(hardware),
        versions=_versions(hardware),
        flags={
            "data": data.source,
            "batch": size["batch"],
            "width": size["width"],
            "trainings": repeats,
            "steps": sum(run.steps for run in baseline),
            **_machine_flags(hardware),
        },
    )


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
    tf32 = hardware.device == "cuda" and torch.cuda.get_device_capability() >= (8, 0)
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
    }


def _versions(hardware: Hardware) -> dict[str, str]:
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    return versions | ({"cuda": str(torch.version.cuda)} if hardware.device == "cuda" else {})


def _driver(hardware: Hardware) -> str | None:
    tool = shutil.which("nvidia-smi") if hardware.device == "cuda" else None
    if tool is None:
        return None
    ask = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    answer = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=10)
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
    print(f"{result.hardware}: {result.baseline.precision} {result.baseline.value} ms, ", end="")
    print(f"{result.amp.precision} {result.amp.value} ms, factor {result.speedup:.2f}")
    if options.save:
        save(result, FOLDER / f"{options.save}.json")


if __name__ == "__main__":
    main()
