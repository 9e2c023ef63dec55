"""One of torchrun's processes: train with DDP and write what came out.

Rank 1 alone starts with a gradient that overflows, so that the first step is skipped everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from ampcourse.benchmark import models
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.metrics import confusion, scores
from ampcourse.benchmark.recipes import parse
from ampcourse.benchmark.steps import prepare
from ampcourse.benchmark.training_run import train
from ampcourse.distributed import process_group


def main(folder: Path) -> None:
    data = torch.load(folder / "data.pt", weights_only=False)
    with process_group(timeout=100) as ranks:
        model = models.build("tiny", stem="3x3")
        step = prepare(parse("amp-fp16"), model, models.sgd(0.1), Machine(), ranks.wrap)
        if ranks.rank == 1:
            weight = model.conv1.weight
            calls: list[None] = []

            def overflow(gradient: torch.Tensor) -> torch.Tensor:
                calls.append(None)
                return gradient.fill_(torch.inf) if len(calls) == 1 else gradient

            weight.register_hook(overflow)
        with step.active():
            row = train(step, data, Machine(), batch=20, epochs=4, seed=0, ranks=ranks)
            model.eval()
            with torch.no_grad(), torch.autocast("cpu", torch.float16):
                guesses = model(data.inputs(data.test_images)).argmax(1)
        alone = scores(confusion(data.test_labels, guesses, data.classes))
        found = {"row": row, "weights": model.state_dict(), "alone": alone}
        torch.save(found, folder / f"{ranks.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
