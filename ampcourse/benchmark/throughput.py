"""Images per second of recipes that take turns in one process, in random order, round by round.

What else the machine does, and its clocks, then weigh on all recipes alike; the ratio of two is
taken within each round. The batch stays on the device: nothing is loaded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np
import torch

from ampcourse.benchmark.compiler import compiler_problem
from ampcourse.benchmark.context import Context
from ampcourse.benchmark.plans import Task, Throughput, recipes_of
from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.rows import Row
from ampcourse.benchmark.steps import Step

#: From this share of a step on, the host's work, not the device's, is the limit.
HOST_BOUND = 0.9

#: A step that only measures speed must not diverge; the rate does not change its time.
LEARNING_RATE = 1e-3

#: Fewer rounds than these give no interval to believe.
FEWEST_ROUNDS = 3


class NotFinite(ValueError):
    """A loss is inf or NaN: what is fast and wrong is not worth measuring."""


@dataclass
class Contender:
    """A recipe that is warm, and what was measured of it."""

    recipe: Recipe
    step: Step
    images: torch.Tensor
    labels: torch.Tensor
    clocks_before: Any
    peak: dict[str, int | None]
    #: Of one step after the warm-up: on the device, and for issuing it (None on a CPU).
    first_s: float
    issue_s: float | None
    loss: float = math.nan
    seconds: list[float] = field(default_factory=list)


def throughput(part: Throughput, context: Context) -> Iterator[Row]:
    """Measure a part's recipes and yield their rows when the rounds are over.

    A recipe that fails yields its row at once, and the others go on. If the first recipe, the
    baseline, finds too little memory, the batch is halved for all. Interrupted or out of time, the
    rows of what was measured come all the same, marked, if there are rounds enough.
    """
    context.machine.search_kernels(True)
    contenders, task = yield from _warm(part, context)
    stop: BaseException | None = None
    failed: list[tuple[Contender, Exception]] = []
    try:
        _race(contenders, part, context, failed)
    except KeyboardInterrupt as interrupt:
        stop = interrupt
    for contender, error in failed:
        yield context.failure("throughput", error, contender.recipe, task)
    yield from _rows(contenders, task, context, stop is not None)
    if stop is not None:
        raise stop


def issue_seconds(step: Step, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return how long the host needs to issue one step to a device that is idle.

    Without what it waits for: a scaler that looks at the gradients waits for the backward pass.
    So the device is let finish between the two, and that time is left out. Where more kernels are
    waiting than the driver's queue holds, the host waits there, which this cannot leave out.
    """
    waited = 0.0

    def wait() -> None:
        nonlocal waited
        begin = time.perf_counter()
        step.machine.synchronize()
        waited += time.perf_counter() - begin

    step.machine.synchronize()
    begin = time.perf_counter()
    step.step(images, labels, between=wait)
    return time.perf_counter() - begin - waited


def interval(ratios: list[float], seed: int = 0, draws: int = 2000) -> list[float] | None:
    """Return the 95 % bootstrap interval of the median of some ratios; None of fewer than three.

    Percentile bootstrap over rounds (Efron, Bootstrap Methods, Annals of Statistics 7(1), 1979).
    """
    if len(ratios) < FEWEST_ROUNDS:
        return None
    random = np.random.default_rng(seed)
    drawn = random.choice(np.asarray(ratios), (draws, len(ratios)))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return [float(low), float(high)]


def _warm(part: Throughput, context: Context) -> Generator[Row, None, tuple[list[Contender], Task]]:
    """Prepare the recipes one by one; yield a row for each that cannot be."""
    task = part.task
    contenders: list[Contender] = []
    for recipe in recipes_of(part):
        problem = compiler_problem(context.machine) if recipe.compiled else ""
        if context.over(part.compile_s if recipe.compiled else 0.0):
            problem = f"left out: {max(context.left(), 0):.0f} s of the plan's time are too few"
        if problem:
            yield context.row("throughput", "skipped", problem, recipe, task)
            continue
        while True:
            halve = not contenders and task.batch >= 2 * context.ranks.world_size
            found, failure = _try(recipe, task, part, context)
            if found is not None:
                contenders.append(found)
                break
            # Only now, since an error holds the frames, and they the tensors, of where it rose.
            context.machine.empty_cache()
            if failure["status"] != "out_of_memory" or not halve:
                yield failure
                break
            task = replace(task, batch=task.batch // 2)
            context.say(
                f"{recipe}: too little memory for a batch of {2 * task.batch}; all recipes are "
                f"measured with {task.batch}"
            )
        context.progress(1)
    return contenders, task


def _try(
    recipe: Recipe, task: Task, part: Throughput, context: Context
) -> tuple[Contender | None, Row]:
    clocks = context.machine.clocks()
    try:
        return _contender(recipe, task, part, context, clocks), {}
    except Exception as error:
        if context.ranks.world_size > 1:  # the other processes would wait for this one
            raise
        return None, context.failure("throughput", error, recipe, task, clocks_before=clocks)


def _contender(
    recipe: Recipe, task: Task, part: Throughput, context: Context, clocks: Any
) -> Contender:
    machine = context.machine
    machine.empty_cache()
    before = machine.held()
    step = context.step(recipe, task, LEARNING_RATE, context.seed)
    images, labels = context.batch(recipe, task, task.batch)
    with step.active():
        for _ in range(max(1, part.warm_up)):
            loss = step.step(images, labels)
        _check_finite(loss)
        # The search for kernels took memory that a step does not need.
        machine.empty_cache()
        machine.reset_peak()
        seconds = machine.seconds(lambda: step.step(images, labels))
        peak = _above(machine.peak(), before)
        issue = None
        if machine.kind == "cuda":
            issue = median(issue_seconds(step, images, labels) for _ in range(3))
    step.optimizer.zero_grad(set_to_none=True)
    return Contender(recipe, step, images, labels, clocks, peak, seconds, issue)


def _above(peak: dict[str, int | None], before: dict[str, int | None]) -> dict[str, int | None]:
    """Return a peak without what other recipes' models held before."""
    found: dict[str, int | None] = {}
    for name, value in peak.items():
        other = before[name.removeprefix("peak_")]
        found[name] = None if value is None or other is None else value - other
    return found


def _race(
    contenders: list[Contender],
    part: Throughput,
    context: Context,
    failed: list[tuple[Contender, Exception]],
) -> None:
    """Let the recipes take turns; those that fail go from `contenders` to `failed`."""
    random = np.random.default_rng(context.seed)
    steps = {
        c.recipe.name: max(1, round(part.turn_s / max(context.agreed(c.first_s), 1e-6)))
        for c in contenders
    }
    for done in range(part.rounds):
        if done >= FEWEST_ROUNDS and context.over():
            context.say(f"throughput: {done} rounds of {part.rounds}, the time is over")
            return
        taken: dict[str, float] = {}
        for place in random.permutation(len(contenders)):
            contender = contenders[place]
            try:
                taken[contender.recipe.name] = _turn(contender, steps[contender.recipe.name])
            except Exception as error:
                if context.ranks.world_size > 1:
                    raise
                failed.append((contender, error))
            context.progress(1)
        for contender, _ in failed:
            if contender in contenders:
                contenders.remove(contender)
        # All at once: an interrupted round counts for nobody, and rounds stay comparable.
        for contender in contenders:
            contender.seconds.append(taken[contender.recipe.name])


def _turn(contender: Contender, steps: int) -> float:
    """Return the seconds per step of one turn."""
    step, images, labels = contender.step, contender.images, contender.labels
    losses: list[torch.Tensor] = []

    def run() -> None:
        for _ in range(steps):
            losses[:] = [step.step(images, labels)]

    with step.active():
        if step.machine.kind == "cuda":
            step.step(images, labels)  # another recipe's memory is handed over to this one
        seconds = step.machine.seconds(run) / steps
    contender.loss = _check_finite(losses[0])
    step.optimizer.zero_grad(set_to_none=True)
    return seconds


def _check_finite(loss: torch.Tensor) -> float:
    value = loss.item()
    if not math.isfinite(value):
        raise NotFinite(f"the loss became {value}; what is measured must train")
    return value


def _rows(
    contenders: list[Contender], task: Task, context: Context, interrupted: bool
) -> Iterator[Row]:
    baseline = contenders[0] if contenders else None
    for contender in contenders:
        rounds = len(contender.seconds)
        if rounds == 0:
            status, message = ("interrupted" if interrupted else "skipped"), "no round was finished"
            yield context.row("throughput", status, message, contender.recipe, task)
            continue
        status = "interrupted" if interrupted else "ok"
        message = f"interrupted after {rounds} rounds" if interrupted else ""
        # Not while somebody waits to get out: a limit takes seconds to compute.
        limit = None if interrupted else context.images_per_s_at_most(contender.recipe, task)
        assert baseline is not None
        yield context.row(
            "throughput",
            status,
            message,
            contender.recipe,
            task,
            contender.clocks_before,
            **_figures(contender, baseline, task.batch, context.seed),
            roofline_images_per_s=limit,
        )


def _figures(contender: Contender, baseline: Contender, batch: int, seed: int) -> dict[str, Any]:
    seconds, step = contender.seconds, contender.step
    middle = median(seconds)
    ratios = [b / own for b, own in zip(baseline.seconds, seconds, strict=True)]
    share = None if contender.issue_s is None else contender.issue_s / middle
    return {
        "images_per_s": batch / middle,
        "step_s": seconds,
        "rounds": len(seconds),
        "baseline": baseline.recipe.name,
        "ratio": median(ratios),
        "ratio_interval": interval(ratios, seed),
        "issue_s": contender.issue_s,
        "issue_share": share,
        "host_bound": share is not None and share > HOST_BOUND,
        **contender.peak,
        "loss": contender.loss,
        "steps": step.steps,
        "skipped_steps": step.skipped,
        "scale": step.scale,
    }
