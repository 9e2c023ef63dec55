"""What all parts of a run share: the machine, the processes, the clock, the data, common fields."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ampcourse.benchmark.devices import Device, measure_cpu, recognise
from ampcourse.benchmark.layers import RECIPES, Workload, workload
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.models import build, sgd
from ampcourse.benchmark.pictures import Pictures, pictures
from ampcourse.benchmark.plans import Task
from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.roofline import step_limit
from ampcourse.benchmark.rows import Row
from ampcourse.benchmark.steps import Step, place, prepare, tf32_of
from ampcourse.distributed import SINGLE, Ranks


@dataclass
class Context:
    """`deadline` is a time.perf_counter(); `say` prints a line, `progress` counts work done."""

    machine: Machine
    preset: str
    deadline: float
    ranks: Ranks = SINGLE
    seed: int = 0
    use: str = "auto"
    folder: Path | None = None
    peaks_s: float = 2.0
    say: Callable[[str], None] = print
    progress: Callable[[int], object] = lambda steps: None
    device: Device | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._pictures: dict[str, Pictures] = {}
        self._work: dict[tuple[Any, ...], Workload] = {}
        if self.machine.kind == "cuda":
            self.device = recognise(self.machine.name)
        elif self.peaks_s > 0:
            self.device = measure_cpu(self.peaks_s)

    def left(self) -> float:
        """Return the seconds until the deadline."""
        return self.deadline - time.perf_counter()

    def data(self, task: Task) -> Pictures:
        """Return a task's pictures, in the host's memory; read once."""
        if task.data not in self._pictures:
            self._pictures[task.data] = pictures(task.data, None, self.use, self.folder)
        return replace(self._pictures[task.data], size=task.size)

    def step(self, recipe: Recipe, task: Task, learning_rate: float, seed: int = 0) -> Step:
        """Return a fresh Step of a task's model under a recipe, over all processes."""
        data = self.data(task)
        model = build(task.model, data.channels, data.classes, task.stem, seed)
        return prepare(recipe, model, sgd(learning_rate), self.machine, self.ranks.wrap)

    def batch(self, recipe: Recipe, task: Task, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return this process's share of `batch` images, laid out for a recipe, and labels.

        The first ones of the training data, from the start again where there are too few.
        """
        data = self.data(task)
        positions = self.ranks.part(torch.arange(batch)) % len(data.train_images)
        images = data.inputs(self.machine.to(data.train_images[positions]))
        return place(images, recipe), self.machine.to(data.train_labels[positions])

    def images_per_s_at_most(self, recipe: Recipe, task: Task) -> float | None:
        """Return what a task can reach at most on all devices; None where no peaks are known.

        None as well for checkpointing, whose second computation the model does not count.
        """
        if self.device is None or recipe.checkpointing:
            return None
        rule = RECIPES[recipe.arithmetic]
        data, share = self.data(task), self.ranks.share(task.batch)
        key = (rule.rehearsed, rule.scaler, task.model, task.stem, task.size, data.channels, share)
        if key not in self._work:
            model = build(task.model, data.channels, data.classes, task.stem)
            shape = (share, data.channels, task.size, task.size)
            self._work[key] = workload(model, shape, recipe.arithmetic)
        work = replace(self._work[key], recipe=recipe.arithmetic)
        found = step_limit(work, self.device, recipe.layout, fused=recipe.compiled)
        return found.images_per_second * self.ranks.world_size

    def agreed(self, value: float) -> float:
        """Return the mean of a number over all processes: the same in each of them."""
        if self.ranks.world_size == 1:
            return value
        number = torch.tensor([value], dtype=torch.float64, device=self.machine.device)
        return float(self.ranks.sum(number).item()) / self.ranks.world_size

    def over(self, seconds_needed: float = 0.0) -> bool:
        """Return whether the time is over, for every process alike."""
        return self.agreed(float(self.left() < seconds_needed)) > 0

    def row(
        self,
        kind: str,
        status: str,
        message: str = "",
        recipe: Recipe | None = None,
        task: Task | None = None,
        clocks_before: Any = None,
        **fields: Any,
    ) -> Row:
        """Return a row with what every row says of its circumstances."""
        of_recipe, of_task = {}, {}
        if recipe is not None:
            message = message or remark(recipe, self.machine)
            of_recipe = {
                "recipe": recipe.name,
                "base": recipe.base,
                "layout": recipe.layout,
                "compiled": recipe.compiled,
                "checkpointing": recipe.checkpointing,
                "arithmetic": recipe.arithmetic,
            }
        if task is not None:
            of_task = {**asdict(task), "image_size": task.size}
            del of_task["size"]
            if task.data in self._pictures:
                found = self._pictures[task.data]
                source = {"name": found.name, "source": found.source}
                of_task |= {
                    "data": source,
                    "channels": found.channels,
                    "classes": found.classes,
                }
        machine = self.machine.describe()
        if recipe is not None:  # a row is made when its recipe is not in force any more
            machine["tf32"] = tf32_of(recipe, self.machine)
        machine |= {"clocks_before": clocks_before, "clocks_after": self.machine.clocks()}
        return {
            "kind": kind,
            "status": status,
            "message": message,
            **of_recipe,
            **of_task,
            "world_size": self.ranks.world_size,
            "preset": self.preset,
            "seed": self.seed,
            **fields,
            "machine": machine | {"peaks": self._peaks()},
        }

    def failure(
        self, kind: str, error: BaseException, recipe: Recipe | None, task: Task | None, **more: Any
    ) -> Row:
        """Return the row of a measurement that an error ended."""
        without = self.machine.out_of_memory(error)
        text = str(error).strip() or type(error).__name__
        message = f"{type(error).__name__}: {text.splitlines()[0]}"
        status = "out_of_memory" if without else "failed"
        return self.row(kind, status, message, recipe, task, **more)

    def _peaks(self) -> dict[str, Any] | None:
        if self.device is None:
            return None
        device = self.device
        return {
            "name": device.name,
            "kind": device.kind,
            "tflops": dict(device.peaks),
            "gbytes_per_s": device.bandwidth,
        }


def remark(recipe: Recipe, machine: Machine) -> str:
    """Return what one must know of a recipe on a machine that is not made for it, or ""."""
    if machine.kind != "cpu":
        return ""
    if recipe.rule.needs_fp16:
        return "FP16 on a CPU: 8 to 75 times slower than FP32 where its libraries do not use units"
    if recipe.rule.tf32 != "ieee":
        return "a CPU has no TF32: computed in FP32"
    return ""
