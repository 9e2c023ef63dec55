"""The capstone's script: its text, made of a learner's functions, and the command that it runs."""

from __future__ import annotations

import argparse
import ast
import linecache
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ampcourse.training.capstone import MODELS, PRECISIONS, Run, TrainingStopped, start


def main(
    fit: Callable[[Run, int], object],
    evaluate: Callable[[Run], Mapping[str, float]],
    save: Callable[[Run, str], object],
    load: Callable[[Run, str], object],
    argv: Sequence[str] | None = None,
) -> int:
    """Train as the arguments say, print a line per epoch and return 0, or 1 if training stopped."""
    options = _parser().parse_args(argv)
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    given = {"learning_rate": options.learning_rate, "batch": options.batch, "piece": options.piece}
    run = start(
        options.model, precision=options.precision, epochs=options.epochs, data=options.data,
        images=options.images, pixels=options.pixels, device=device, seed=options.seed,
        **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    if options.resume:
        load(run, options.resume)
        print(f"resumed after step {len(run.history)} from {os.path.basename(options.resume)}")
    print(f"{options.model}, {options.precision} on {_name(device)}, torch {torch.__version__}")
    try:
        _epochs(run, options, fit, evaluate, save)
    except TrainingStopped as stop:
        print(f"step {len(run.history)}: {stop}", file=sys.stderr)
        return 1
    return 0


def _epochs(
    run: Run,
    options: argparse.Namespace,
    fit: Callable[[Run, int], object],
    evaluate: Callable[[Run], Mapping[str, float]],
    save: Callable[[Run, str], object],
) -> None:
    length = len(run.batches)
    last = min(options.epochs, options.stop_after or options.epochs)
    while len(run.history) < last * length:
        done = len(run.history)
        began = time.perf_counter()
        fit(run, length - done % length)
        seconds = time.perf_counter() - began
        if options.save:
            save(run, options.save)
        entries = run.history[done:]
        if not entries:
            raise RuntimeError("fit has added nothing to run.history: it notes each step there")
        loss = sum(entry["loss"] for entry in entries) / len(entries)
        scores = ", ".join(f"{name} {value:.4f}" for name, value in evaluate(run).items())
        skipped = sum(not entry["taken"] for entry in entries)
        print(
            f"epoch {len(run.history) // length}/{options.epochs}: loss {loss:.4f}, "
            f"scale {entries[-1]['scale']:g}, skipped {skipped}, {seconds:.1f} s\n  {scores}",
            flush=True,
        )


def script(*functions: Callable[..., Any]) -> str:
    """Return the text of a script that trains with these functions, among them the five parts.

    It takes over the whole cells (or files) in which they were defined, without what is no
    definition, import or constant there. Raises ValueError where a function's text is not to be
    had.
    """
    cells = dict.fromkeys(function.__code__.co_filename for function in functions)
    texts = ["".join(linecache.getlines(name)) for name in cells]
    if not all(texts):
        raise ValueError("the text of a function is gone: run the cell that defines it once more")
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Assign
    parts = []
    for text in texts:
        nodes = [node for node in ast.parse(text).body if isinstance(node, kinds)]
        parts.append("\n\n\n".join(str(ast.get_source_segment(text, node)) for node in nodes))
    return "\n\n\n".join([_HEAD, *parts, _FOOT])


_HEAD = '''"""Train a network on FashionMNIST with mixed precision: `python train.py --help`."""

import copy
import math
import os

import torch
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from ampcourse.training.capstone import SMALLEST_SCALE, TrainingStopped
from ampcourse.training.script import main'''

_FOOT = """if __name__ == "__main__":
    raise SystemExit(main(fit, evaluate, save, load))
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Train on FashionMNIST with mixed precision.")
    parser.add_argument("--model", choices=MODELS, default="small")
    parser.add_argument("--epochs", type=_positive, default=3)
    parser.add_argument("--precision", choices=PRECISIONS, default="amp-fp16")
    parser.add_argument("--data", choices=("auto", "subset"), default="auto")
    parser.add_argument("--images", type=_positive, help="train on the first so many images")
    parser.add_argument("--pixels", type=_positive, default=28, help="side of the images")
    parser.add_argument("--batch", type=_positive)
    parser.add_argument("--piece", type=_positive, help="images that go through at once")
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--stop-after", type=_positive, metavar="N", help="stop after epoch N")
    parser.add_argument("--save", metavar="FILE", help="write a checkpoint after each epoch")
    parser.add_argument("--resume", metavar="FILE", help="go on from a checkpoint")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def _name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "the CPU"
