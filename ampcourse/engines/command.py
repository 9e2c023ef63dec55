"""The training example: one network, one recipe, three engines, any number of processes.

One machine, alone or with two processes:

    python -m ampcourse.engines --engine ddp --recipe amp-bf16
    torchrun --standalone --nproc-per-node 2 -m ampcourse.engines --engine fsdp --recipe amp-bf16

Two machines, on each of them (HOST is the first one's name; --checkpoints on a disk both see):

    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29400 \\
        --max-restarts 3 -m ampcourse.engines --engine deepspeed --checkpoints FOLDER

When a process is lost, torchrun starts all again, and they go on from the newest checkpoint. Set
TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 before: else, with torch 2.14, processes that start again can
find the addresses of those that have ended.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ampcourse.engines.recipes import ENGINES, recipe_for


def main(argv: Sequence[str] | None = None) -> int:
    """Train as the arguments say and return the exit status: 0 done, 2 misuse."""
    options = parser().parse_args(argv)
    try:
        run(options)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"ampcourse.engines: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    found = argparse.ArgumentParser(
        prog="python -m ampcourse.engines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--engine", choices=ENGINES, default="ddp")
    found.add_argument("--recipe", default="fp32", help="one of the benchmark's, as amp-bf16")
    found.add_argument("--model", default="small", help="small, tiny, resnet10, 18 or 50")
    found.add_argument("--size", type=int, help="side of the images in pixels")
    found.add_argument("--batch", type=int, default=100, help="images of all processes together")
    found.add_argument("--steps", type=int, default=100, help="steps in all, earlier ones included")
    found.add_argument("--learning-rate", type=float, default=1e-3)
    found.add_argument("--stage", type=int, default=2, choices=(1, 2, 3), help="DeepSpeed's ZeRO")
    found.add_argument("--seed", type=int, default=0)
    found.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    found.add_argument("--use", choices=("auto", "full", "subset"), default="auto", help="data")
    found.add_argument("--checkpoints", type=Path, metavar="FOLDER", help="goes on from there")
    found.add_argument("--every", type=int, default=50, help="steps between checkpoints")
    found.add_argument("--json", type=Path, metavar="FILE", help="write what was found")
    return found


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Train, evaluate, print, and return what was found.

    Raises ValueError, OSError and ModuleNotFoundError with what to try.
    """
    recipe = recipe_for(options.engine, options.recipe)
    if options.steps < 1:
        raise ValueError(f"--steps {options.steps} trains nothing; give 1 or more")
    from ampcourse.benchmark.machine import open_machine
    from ampcourse.benchmark.pictures import pictures
    from ampcourse.distributed import process_group
    from ampcourse.engines import training

    kind = open_machine(options.device).kind
    with process_group(kind, alone=options.engine != "ddp") as ranks:
        machine = open_machine(f"cuda:{ranks.local_rank}" if kind == "cuda" else kind)
        data = pictures("fashion-mnist", options.size, options.use)
        model = training.build_model(options.model, data, options.seed)
        engine = training.make_engine(
            options.engine,
            recipe,
            model,
            machine,
            ranks,
            batch=options.batch,
            learning_rate=options.learning_rate,
            stage=options.stage,
        )
        say = _say if ranks.reports else _quiet
        say(f"{options.engine}, {recipe}, {options.model}: {ranks.world_size} of {machine.name}")
        found = training.train(
            engine,
            data,
            batch=options.batch,
            steps=options.steps,
            seed=options.seed,
            folder=options.checkpoints,
            every=options.every,
            about={"model": options.model, "size": data.size, "batch": options.batch},
            say=say,
        )
        found["accuracy"] = training.accuracy(engine, data)
        say(f"accuracy on the test images {found['accuracy']:.3f}; {_held(found['bytes'])}")
        found |= {"world_size": ranks.world_size, "machine": machine.describe()}
        found |= {"engine": options.engine, "recipe": recipe.name, "model": options.model}
        found["data"] = data.source
        if options.json is not None and ranks.reports:
            options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def _held(found: dict[str, int]) -> str:
    if not found:
        return "all steps had been taken before"
    return "bytes per rank: " + ", ".join(f"{kind} {size:,}" for kind, size in found.items())


def _say(line: str) -> None:
    print(line, flush=True)


def _quiet(line: str) -> None:
    pass
