"""The command `ampcourse benchmark`: what to measure, on what, and where the rows go."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from ampcourse.benchmark.machine import Machine, open_machine
from ampcourse.benchmark.models import NAMES, STEMS
from ampcourse.benchmark.pictures import NAMES as DATA
from ampcourse.benchmark.plans import Plan
from ampcourse.benchmark.presets import PRESETS, preset
from ampcourse.benchmark.recipes import BASES
from ampcourse.benchmark.runner import Interrupted, run
from ampcourse.distributed import process_group, ranks_of

#: When the program began, as nearly as can be told: the eight minutes of a plan include imports.
_STARTED = time.perf_counter()

KINDS = ("throughput", "training", "largest_batch", "gemm")


def main(argv: Sequence[str] | None = None, report: Callable[[Path], object] | None = None) -> int:
    """Run the command and return its status: 0 done, 1 rows failed, 2 misuse, 130 interrupted.

    `report` is called with the file of rows at the end, if there are any.
    """
    options = parser().parse_args(argv)
    try:
        return _run(options, report)
    except (ValueError, OSError) as error:
        print(f"ampcourse benchmark: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    found = argparse.ArgumentParser(
        prog="ampcourse benchmark",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measure training in several kinds of arithmetic; see the presets below.",
        epilog="presets:\n" + _presets() + "\n\nrecipes: a base, then any of +nhwc, +compile, "
        "+checkpoint\n" + "\n".join(f"  {name:14} {base.says}" for name, base in BASES.items()),
    )
    found.add_argument("--preset", help="a plan; default: by the device")
    found.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    found.add_argument("--out", type=Path, help="file of the rows; default: a new one in results/")
    found.add_argument("--only", nargs="+", choices=KINDS, help="parts of the plan")
    found.add_argument("--recipes", nargs="+", metavar="RECIPE", help="the first is the baseline")
    found.add_argument("--model", choices=NAMES)
    found.add_argument("--stem", choices=STEMS)
    found.add_argument("--size", type=_positive, metavar="PX", help="side of the images")
    found.add_argument("--batch", type=_positive, help="over all processes")
    found.add_argument("--data", choices=DATA)
    found.add_argument("--data-folder", type=Path, help="where the data is, instead of data/")
    found.add_argument("--use", choices=("auto", "full", "subset"), help="of FashionMNIST")
    found.add_argument("--images", type=_positive, help="for training, at most")
    found.add_argument("--epochs", type=_positive)
    found.add_argument("--learning-rate", type=float, help="of trainings")
    found.add_argument("--seeds", nargs="+", type=int, help="of trainings")
    found.add_argument("--rounds", type=_positive, help="of throughput")
    found.add_argument("--minutes", type=float, help="for all of it")
    found.add_argument("--threads", type=_positive, help="of the CPU")
    found.add_argument("--quiet", action="store_true", help="print nothing but errors")
    return found


def plan_of(options: argparse.Namespace, machine: Machine) -> Plan:
    """Return the preset with the command's options in it; ValueError for what does not fit."""
    name = options.preset or ("gpu-full" if machine.kind == "cuda" else "cpu-short")
    plan = preset(name)
    if options.only:
        plan = plan.only(tuple(options.only))
    names = (
        "model",
        "stem",
        "size",
        "batch",
        "data",
        "epochs",
        "learning_rate",
        "rounds",
        "images",
    )
    changes = {name: getattr(options, name) for name in names}
    plan = plan.changed(
        **changes,
        recipes=tuple(options.recipes) if options.recipes else None,
        seeds=tuple(options.seeds) if options.seeds else None,
    )
    return plan.timed(options.minutes, options.use)


def new_file(machine: Machine, folder: Path = Path("results")) -> Path:
    """Return a file name that is not taken yet, of today's date, the time and the device."""
    device = re.sub(r"[^a-z0-9]+", "-", machine.name.lower()).strip("-")
    stem = f"{datetime.now():%Y-%m-%d_%H-%M-%S}_{device}"
    names = (folder / f"{stem}{suffix}.jsonl" for suffix in ("", *(f"_{i}" for i in range(2, 99))))
    return next(path for path in names if not path.exists())


def _run(options: argparse.Namespace, report: Callable[[Path], object] | None) -> int:
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    machine = open_machine(_own_gpu(options.device))
    plan = plan_of(options, machine)
    with process_group(machine.kind) as ranks:
        out = options.out or new_file(machine)
        quiet = options.quiet or not ranks.reports
        if not quiet:
            print(f"{plan.name}: {plan.says}\n{machine.name}; rows go to {out}", flush=True)
        try:
            found = run(
                plan,
                machine,
                out,
                ranks=ranks,
                folder=options.data_folder,
                started=_STARTED,
                quiet=quiet,
            )
        except Interrupted as stopped:
            print(f"stopped; {len(stopped.rows)} rows are in {out}", file=sys.stderr)
            return 130
        if ranks.reports and report is not None and out.is_file():
            report(out)
    failed = sum(row["status"] in ("failed", "out_of_memory") for row in found)
    if not quiet:
        seconds = time.perf_counter() - _STARTED
        print(f"{len(found)} rows, {failed} of them failed, in {seconds:.0f} s: {out}")
    return int(failed > 0)


def _own_gpu(device: str) -> str:
    """Return the device of this process: under torchrun, each has its own GPU."""
    import torch

    local = ranks_of(os.environ).local_rank
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    return f"cuda:{local}" if on_gpu and "LOCAL_RANK" in os.environ else device


def _presets() -> str:
    found: dict[str, list[str]] = {}
    for name, plan in PRESETS.items():
        found.setdefault(plan.says, []).append(name)
    return "\n".join(f"  {', '.join(names):20} {says}" for says, names in found.items())


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} must be 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
