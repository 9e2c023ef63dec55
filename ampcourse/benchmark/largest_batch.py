"""The largest batch that fits into memory, found by doubling and then halving the gap.

Half the bytes per activation are a gain of their own, beside the speed at equal batch: a larger
batch fits. On a GPU batches are tried. A CPU is never filled, since that can end more than this
program: there the peak is predicted by a rehearsal without numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from ampcourse.benchmark.layers import RECIPES
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.steps import Step
from ampcourse.memory.peak import predict

#: What draws a batch of so many images and labels, placed for the step.
Sample = Callable[[int], tuple[torch.Tensor, torch.Tensor]]

#: Batches to look no further than: a search that never fails would not end.
MOST = 2**20


def largest_batch(
    make_step: Callable[[], Step],
    machine: Machine,
    *,
    sample: Sample,
    cap: int | None = None,
    start: int = 32,
    within: float = 1 / 32,
    deadline: float | None = None,
) -> dict[str, Any]:
    """Return the fields of a "largest_batch" row: the largest batch that fits and what was tried.

    `make_step` makes a fresh step of the recipe for each try. `cap` is a limit in bytes below what
    is free. The search ends when the smallest batch that did not fit is at most `within` above
    the largest that did, or, not `complete` then, after `deadline`, a time.perf_counter(). `batch`
    is 0 where not even one image fits; `method` is "tried" or "predicted". Errors other than
    those for too little memory are raised, and ValueError for no start.
    """
    if start < 1:
        raise ValueError(f"start={start} is no batch; give 1 or more")
    machine.empty_cache()
    limits = [limit for limit in (machine.free_memory(), cap) if limit is not None]
    limit = min(limits, default=None)
    if machine.kind == "cpu":
        if limit is None:
            raise ValueError("nobody can tell how much memory is free here; give a cap in bytes")
        fits, method = _predicting(make_step, sample, limit), "predicted"
    else:
        fits, method = _trying(make_step, sample, machine, cap), "tried"
    tried: dict[int, bool] = {}
    while (batch := _next(tried, start, within)) is not None:
        if deadline is not None and time.perf_counter() > deadline:
            break
        tried[batch] = fits(batch)
    return {
        "batch": max((size for size, ok in tried.items() if ok), default=0),
        "tried": [[size, ok] for size, ok in tried.items()],
        "limit": limit,
        "method": method,
        "complete": _next(tried, start, within) is None,
    }


def _next(tried: dict[int, bool], start: int, within: float) -> int | None:
    """Return the batch to try next: twice the largest or half the smallest, then between them."""
    low = max((size for size, ok in tried.items() if ok), default=0)
    high = min((size for size, ok in tried.items() if not ok), default=None)
    if not tried:
        return start
    if high is None:
        return min(2 * low, MOST) if low < MOST else None
    if high - low <= max(1, within * low):
        return None
    return (low + high) // 2 if low else high // 2


def _trying(
    make_step: Callable[[], Step], sample: Sample, machine: Machine, cap: int | None
) -> Callable[[int], bool]:
    def fits(batch: int) -> bool:
        machine.reset_peak()
        try:
            step = make_step()
            with step.active():
                images, labels = sample(batch)
                for _ in range(2):  # the optimizer's state comes with the first
                    step.step(images, labels)
            machine.synchronize()
            reached = machine.peak()["peak_reserved"]
            fitted = cap is None or reached is None or reached <= cap
        except Exception as error:
            if not machine.out_of_memory(error):
                raise
            fitted = False
        # Only now is the error gone, whose traceback holds the tensors of the failed step.
        step = images = labels = None
        machine.empty_cache()
        return fitted

    return fits


def _predicting(make_step: Callable[[], Step], sample: Sample, limit: int) -> Callable[[int], bool]:
    step = make_step()
    shape = sample(1)[0].shape[1:]
    recipe = RECIPES[step.recipe.arithmetic].rehearsed

    def fits(batch: int) -> bool:
        return predict(step.model, "momentum", recipe, (batch, *shape)).peak <= limit

    return fits
