"""The parts of a plan that train and that look for the largest batch, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ampcourse.benchmark.context import Context
from ampcourse.benchmark.largest_batch import largest_batch
from ampcourse.benchmark.pictures import Pictures
from ampcourse.benchmark.plans import LargestBatch, Training, recipes_of
from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.rows import Row
from ampcourse.benchmark.training_run import train


def trainings(part: Training, context: Context) -> Iterator[Row]:
    """Train each recipe from each seed and yield a row when a training ends.

    Runs of one seed start from the same weights and see the same images in the same order. What
    begins after the deadline is left out with a row that says so; a training under way then ends
    with its epoch.
    """
    context.machine.search_kernels(True)
    for seed in part.seeds:
        for recipe in recipes_of(part):
            yield _row(recipe, seed, part, context)
            # The row is all that is left of the training: only now its memory can go.
            context.machine.empty_cache()


def images_of(part: Training, context: Context) -> Pictures:
    """Return the pictures of a part: its first `images` for training, half as many for tests."""
    data, images = context.data(part.task), part.images
    if images is None or images >= len(data.train_images):
        return data
    tests = min(len(data.test_images), max(1, images // 2))
    return replace(
        data,
        source=f"{data.source}; of them {images:,} for training and {tests:,} for tests",
        train_images=data.train_images[:images],
        train_labels=data.train_labels[:images],
        test_images=data.test_images[:tests],
        test_labels=data.test_labels[:tests],
    )


def largest_batches(part: LargestBatch, context: Context) -> Iterator[Row]:
    """Look for the largest batch of each recipe and yield a row for each."""
    context.machine.search_kernels(False)
    for recipe in recipes_of(part):
        clocks = context.machine.clocks()
        try:
            yield _largest(recipe, part, context, clocks)
        except Exception as error:
            yield context.failure("largest_batch", error, recipe, part.task)
        context.machine.empty_cache()
        context.progress(1)


def _row(recipe: Recipe, seed: int, part: Training, context: Context) -> Row:
    task = part.task
    common = {"seed": seed, "learning_rate": part.learning_rate, "planned_epochs": part.epochs}
    if context.over():
        message = f"left out: the time of {context.preset} is over"
        return {**context.row("training", "skipped", message, recipe, task), **common}
    clocks = context.machine.clocks()
    data = images_of(part, context)
    try:
        step = context.step(recipe, task, part.learning_rate, seed)
        context.machine.empty_cache()
        context.machine.reset_peak()
        with step.active():
            found = train(
                step,
                data,
                context.machine,
                batch=task.batch,
                epochs=part.epochs,
                seed=seed,
                ranks=context.ranks,
                deadline=context.deadline,
                progress=context.progress,
            )
    except Exception as error:
        if context.ranks.world_size > 1:
            raise
        return {**context.failure("training", error, recipe, task), **common}
    status, message = found.pop("status", "ok"), found.pop("message", "")
    row = context.row("training", status, message, recipe, task, clocks)
    row["data"] = {"name": data.name, "source": data.source}
    return {**row, **common, **found, **context.machine.peak()}


def _largest(recipe: Recipe, part: LargestBatch, context: Context, clocks: object) -> Row:
    task = part.task
    if context.ranks.world_size > 1:
        message = "left out: the largest batch is looked for by one process alone"
        return context.row("largest_batch", "skipped", message, recipe, task)
    if context.over():
        message = f"left out: the time of {context.preset} is over"
        return context.row("largest_batch", "skipped", message, recipe, task)
    found = largest_batch(
        lambda: context.step(recipe, task, 1e-3),
        context.machine,
        sample=lambda batch: context.batch(recipe, task, batch),
        cap=part.cap_bytes,
        start=part.start,
        within=part.within,
        deadline=context.deadline,
    )
    return {**context.row("largest_batch", "ok", "", recipe, task, clocks), **found}
