"""The processes of one training: which one this is, its share of a batch, its wrapped model.

With DistributedDataParallel every process holds the whole model and gets its share of each global
batch; gradients are averaged over the processes during the backward pass. An inf or NaN in one
process's gradients is in everyone's average, so that every process's GradScaler sees it, skips the
same step and moves to the same scale.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import nn

#: What torchrun tells each process.
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Ranks:
    """This process among those of a training; `backend` is "gloo", "nccl" or, alone, "".

    >>> SINGLE.share(256), Ranks(1, 2, 1, "gloo").share(256)
    (256, 128)
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    backend: str = ""

    @property
    def reports(self) -> bool:
        """Whether this is the process that prints and writes: rank 0."""
        return self.rank == 0

    def share(self, batch: int) -> int:
        """Return how many images of a global batch this process gets.

        The global batch is kept, whatever the number of processes. Raises ValueError for one that
        cannot be cut into equal parts: an average of unequal parts would weigh images unequally.
        """
        if batch < 1 or batch % self.world_size:
            lower = batch // self.world_size * self.world_size
            near = [n for n in (lower, lower + self.world_size) if n > 0]
            raise ValueError(
                f"a global batch of {batch} cannot be cut into {self.world_size} equal parts, one "
                f"for each process; choose {' or '.join(map(str, near))}, or another number of "
                "processes (--nproc-per-node)"
            )
        return batch // self.world_size

    def part(self, positions: torch.Tensor) -> torch.Tensor:
        """Return this process's part of a global batch's positions; ValueError as for `share`."""
        size = self.share(len(positions))
        return positions[self.rank * size : (self.rank + 1) * size]

    def wrap(self, model: nn.Module) -> nn.Module:
        """Return the model as one that averages gradients over all processes; alone, itself.

        The model is to be on its device and in its types already. Its graph has to be the same in
        each step. Batch norms see this process's part only, each its own statistics.
        """
        if self.world_size == 1:
            return model
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(model, static_graph=True, gradient_as_bucket_view=True)

    def sum(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the sums of every process's numbers, on the device of this one's."""
        if self.world_size == 1:
            return numbers
        import torch.distributed as dist

        total = numbers.clone()
        dist.all_reduce(total)
        return total


#: The only process of its training.
SINGLE = Ranks()


def ranks_of(environment: Mapping[str, str], device: str = "cpu") -> Ranks:
    """Return what torchrun's environment says of this process; SINGLE if there is none.

    `device` is "cpu" or "cuda" and decides the backend. Raises ValueError for an environment that
    was set in part, or with numbers that make no sense.
    """
    if "WORLD_SIZE" not in environment and "RANK" not in environment:
        return SINGLE
    missing = [name for name in VARIABLES if name not in environment]
    if missing:
        raise ValueError(
            f"the environment has part of what torchrun sets, but no {', '.join(missing)}; start "
            "with torchrun --nproc-per-node N, or unset RANK and WORLD_SIZE for one process"
        )
    rank, size, local = (_number(environment, name) for name in VARIABLES[:3])
    if not 0 <= rank < size:
        raise ValueError(f"RANK={rank} is not below WORLD_SIZE={size}; let torchrun set both")
    return Ranks(rank, size, local, "nccl" if device == "cuda" else "gloo") if size > 1 else SINGLE


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise ValueError(
            f"{name}={environment[name]!r} is not a whole number; let torchrun set it"
        ) from None


@contextmanager
def process_group(
    device: str = "cpu", timeout: float = 300.0, *, alone: bool = False
) -> Iterator[Ranks]:
    """Join the processes that torchrun started, and leave them at the end; alone, do nothing.

    `device` is "cpu" (gloo) or "cuda" (NCCL, one GPU per process). A process that waits for the
    others longer than `timeout` seconds fails. Where torchrun dies, so does this process. With
    `alone`, a single process makes a group of one, which FSDP2 and DeepSpeed want. Raises
    ValueError as `ranks_of`, and for fewer GPUs than processes.
    """
    ranks = ranks_of(os.environ, device)
    if ranks.world_size == 1:
        with _group_of_one(device) if alone else nullcontext():
            yield ranks
        return
    import torch.distributed as dist

    end_with(os.getppid(), lambda: os._exit(1))
    try:
        if device == "cuda":
            _take_gpu(ranks)
        dist.init_process_group(ranks.backend, timeout=timedelta(seconds=timeout))
        yield ranks
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


@contextmanager
def _group_of_one(device: str) -> Iterator[None]:
    import torch.distributed as dist

    backend = "nccl" if device == "cuda" else "gloo"
    # A store in this process: no port is opened.
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def _take_gpu(ranks: Ranks) -> None:
    import torch

    found = torch.cuda.device_count()
    if ranks.local_rank >= found:
        raise ValueError(
            f"process {ranks.local_rank} of this machine has no GPU: there {_are(found)} and NCCL "
            f"wants one for each process; use --nproc-per-node {max(found, 1)} or --device cpu"
        )
    torch.cuda.set_device(ranks.local_rank)


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def end_with(parent: int, end: Callable[[], object]) -> None:
    """Call `end` when the process of that number, this one's parent, has ended.

    A torchrun that was killed cannot end its workers, nor a notebook's kernel its torchrun. Does
    nothing on Windows, where a process keeps the number of a parent that has ended.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        end()

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()
