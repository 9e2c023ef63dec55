"""How long a plan will take on a device, from its roofline limits, before anything is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from ampcourse.benchmark.devices import Device, find_device
from ampcourse.benchmark.layers import RECIPES, Workload, workload
from ampcourse.benchmark.models import build
from ampcourse.benchmark.plans import (
    Gemm,
    LargestBatch,
    Part,
    Plan,
    Task,
    Throughput,
    Training,
    recipes_of,
)
from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.roofline import step_limit

#: Images of the full FashionMNIST, for training and for tests.
TRAIN, TEST = 60_000, 10_000


@dataclass(frozen=True)
class Costs:
    """What a run costs besides the device's arithmetic, in seconds; chosen on the high side.

    `efficiency` is the part of a roofline limit that is reached; the lowest of the published runs
    of ResNet50 reached 0.64. `issue_s` is what Python needs to issue a step, 10 to 17 ms measured
    on a CPU. `limit_s` is for a rehearsal that gives a limit. What the others are was assumed.
    """

    efficiency: float = 0.6
    issue_s: float = 0.017
    start_s: float = 20.0
    search_s: float = 4.0
    prepare_s: float = 0.5
    limit_s: float = 3.0
    compile_s: float = 60.0
    product_s: float = 0.2


class Budget:
    """Seconds of the parts of a plan on a quoted device or a Device."""

    def __init__(self, device: str | Device, costs: Costs | None = None) -> None:
        self.device = find_device(device)
        self.costs = costs or Costs()
        self._done: set[tuple[object, ...]] = set()

    def of(self, plan: Plan) -> list[tuple[str, float]]:
        """Return the start and each part of a plan, by name, with the seconds it will take."""
        self._done.clear()
        found = [("start", self.costs.start_s)]
        found += [(part.kind, self._part(part)) for part in plan.parts]
        return found

    def total(self, plan: Plan) -> float:
        """Return the seconds that all of a plan will take."""
        return sum(seconds for _, seconds in self.of(plan))

    def step_s(self, recipe: Recipe, task: Task) -> float:
        """Return the seconds of a training step: the device's or the host's, the longer."""
        limit = step_limit(self._work(recipe, task), self.device, recipe.layout)
        seconds = limit.seconds / self.costs.efficiency
        # A segment is computed a second time: a third more of forward, backward and forward.
        return max(seconds * (4 / 3 if recipe.checkpointing else 1), self.costs.issue_s)

    def _part(self, part: Part) -> float:
        if isinstance(part, Gemm):
            each = self.costs.product_s + 4 * part.seconds
            return len(part.sizes) * len(part.types) * each
        recipes = recipes_of(part)
        if isinstance(part, Throughput):
            return sum(self._turns(recipe, part) for recipe in recipes)
        if isinstance(part, Training):
            return len(part.seeds) * sum(self._training(recipe, part) for recipe in recipes)
        return sum(self._search(recipe, part) for recipe in recipes)

    def _turns(self, recipe: Recipe, part: Throughput) -> float:
        step = self.step_s(recipe, part.task)
        warm = self._ready(recipe, part.task) + (part.warm_up + 4) * step
        # One step hands memory over, then come those that are timed.
        rounds = part.rounds * (max(part.turn_s, step) + step)
        rule = RECIPES[recipe.arithmetic]
        return (
            warm + rounds + self._once(self.costs.limit_s, rule.rehearsed, rule.scaler, part.task)
        )

    def _training(self, recipe: Recipe, part: Training) -> float:
        images = min(part.images or TRAIN, TRAIN)
        steps = part.epochs * (images // part.task.batch)
        step = self.step_s(recipe, part.task)
        # A forward pass is a third of a step; evaluation looks for kernels of its own.
        evaluation = part.epochs * TEST / part.task.batch * step / 3 + self.costs.search_s
        return self._ready(recipe, part.task) + steps * step + evaluation

    def _search(self, recipe: Recipe, part: LargestBatch) -> float:
        # Two doublings, then halvings of the gap: two steps each, of three times the start's images
        # on average, since those that do not fit end early.
        tries = 3 + math.ceil(math.log2(1 / part.within))
        per_image = self.step_s(recipe, part.task) / part.task.batch
        return tries * (self.costs.prepare_s + 2 * 3 * part.start * per_image)

    def _ready(self, recipe: Recipe, task: Task) -> float:
        """Return the seconds until the first step: building, kernel search, compiling."""
        seconds = self._once(self.costs.search_s, recipe.arithmetic, recipe.layout, task)
        return self.costs.prepare_s + seconds + (self.costs.compile_s if recipe.compiled else 0)

    def _once(self, seconds: float, *what: object) -> float:
        """Return the seconds for the first time, then 0: what was found is kept."""
        if what in self._done:
            return 0.0
        self._done.add(what)
        return seconds

    def _work(self, recipe: Recipe, task: Task) -> Workload:
        rule = RECIPES[recipe.arithmetic]
        # Recipes that launch the same kernels are rehearsed once.
        same = next(
            name
            for name, other in RECIPES.items()
            if (other.rehearsed, other.scaler) == (rule.rehearsed, rule.scaler)
        )
        found = _workload(same, task)
        return Workload(recipe.arithmetic, found.batch, found.kernels)


@cache
def _workload(arithmetic: str, task: Task) -> Workload:
    shape = (task.batch, 1, task.size, task.size)
    return workload(build(task.model, 1, 10, task.stem), shape, arithmetic)
