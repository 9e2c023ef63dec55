"""What the tests let torchrun's processes do; run alone, it is the single process they compare to.

`python worker.py see FOLDER`: each process writes what it saw in all cases into FOLDER, by its
rank. Instead of `see`, `fail` fails in rank 1, `hang` never ends, and `deaf` does not even when it
is told to.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.amp.grad_scaler import GradScaler
from ampcourse.distributed import Ranks, process_group

BATCH = 8


def integers(*shape: int, seed: int, low: int = -2, high: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).float()


def network(batch_norm: bool) -> nn.Sequential:
    torch.manual_seed(0)
    norm = [nn.BatchNorm2d(4)] if batch_norm else []
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), *norm, nn.ReLU(), nn.Conv2d(4, 3, 3), nn.Flatten(), nn.Linear(48, 10)
    )


def integer_gradients(ranks: Ranks) -> list[torch.Tensor]:
    """All numbers are small whole ones and the batch a power of two: no sum rounds."""
    net = network(batch_norm=False)
    with torch.no_grad():
        for number, weight in enumerate(net.parameters()):
            weight.copy_(integers(*weight.shape, seed=number, low=-1, high=2))
    chosen = ranks.part(torch.arange(BATCH))
    images, factors = integers(BATCH, 1, 8, 8, seed=50), integers(BATCH, 10, seed=51)
    wrapped = ranks.wrap(net)
    output = wrapped(images[chosen])
    (output.mul(factors[chosen]).sum() / len(chosen)).backward()
    return gradients(net)


def parted_gradients(ranks: Ranks) -> list[torch.Tensor]:
    """A real net and loss; one process alone adds up the gradients of the two parts."""
    net = network(batch_norm=True)
    torch.manual_seed(1)
    images, labels = torch.randn(BATCH, 1, 8, 8), torch.randint(10, (BATCH,))
    wrapped = ranks.wrap(net)
    if ranks.world_size > 1:
        chosen = ranks.part(torch.arange(BATCH))
        F.cross_entropy(wrapped(images[chosen]), labels[chosen]).backward()
        return gradients(net)
    for rank in range(2):
        chosen = Ranks(rank, 2).part(torch.arange(BATCH))
        (F.cross_entropy(wrapped(images[chosen]), labels[chosen]) / 2).backward()
    return gradients(net)


def whole_gradients(ranks: Ranks) -> list[torch.Tensor]:
    """The same net and loss, the batch whole: batch norms see other statistics than the parts'."""
    net = network(batch_norm=True)
    torch.manual_seed(1)
    images, labels = torch.randn(BATCH, 1, 8, 8), torch.randint(10, (BATCH,))
    F.cross_entropy(net(images), labels).backward()
    return gradients(net)


def overflow(ranks: Ranks, scaler: Any) -> dict[str, Any]:
    """Three steps in FP16; in the second, an image of rank 1 alone makes gradients overflow."""
    net = network(batch_norm=False)
    wrapped = ranks.wrap(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.manual_seed(1 + ranks.rank)
    seen: dict[str, Any] = {"scales": [], "weights": [], "own_input_finite": []}
    for number in range(3):
        images, labels = torch.randn(4, 1, 8, 8), torch.randint(10, (4,))
        if number == 1 and ranks.rank == 1:
            images[0, 0, 0, 0] = torch.inf
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(wrapped(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        seen["own_input_finite"].append(images.isfinite().all().item())
        seen["scales"].append(scaler.get_scale())
        seen["weights"].append(torch.cat([p.detach().flatten() for p in net.parameters()]))
    return seen


def gradients(net: nn.Module) -> list[torch.Tensor]:
    return [p.grad.clone() for p in net.parameters() if p.grad is not None]


CASES = {
    "integers": integer_gradients,
    "parts": parted_gradients,
    "whole": whole_gradients,
    "overflow, torch's scaler": lambda ranks: overflow(
        ranks, torch.amp.GradScaler("cpu", init_scale=1024.0)
    ),
    "overflow, ours": lambda ranks: overflow(ranks, GradScaler("cpu", init_scale=1024.0)),
    "sum": lambda ranks: ranks.sum(torch.tensor([1.0, ranks.rank])),
}


def main(task: str, folder: Path) -> None:
    (folder / f"pid{os.environ.get('RANK', 0)}").write_text(str(os.getpid()))
    if task == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with process_group(timeout=60) as ranks:
        (folder / f"joined{ranks.rank}").touch()
        if task == "fail":
            if ranks.rank == 1:
                raise ValueError("rank 1 cannot go on")
            ranks.sum(torch.zeros(1))  # waits for the other, whose end it sees as a lost connection
        while task != "see":
            time.sleep(0.1)
        print(f"rank {ranks.rank} of {ranks.world_size}")
        seen = {name: case(ranks) for name, case in CASES.items()}
        torch.save(seen, folder / f"{ranks.rank}.pt")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
