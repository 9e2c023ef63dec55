"""What a benchmark is to do: a plan of parts, each a kind of measurement with its conditions.

Plain data: `presets` has the plans with a name, `runner` carries plans out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from ampcourse.benchmark.recipes import Recipe, parse


@dataclass(frozen=True)
class Task:
    """What is trained, on which pictures: `size` in pixels, `batch` over all processes."""

    model: str = "resnet50"
    stem: str = "stock"
    size: int = 96
    batch: int = 1024
    data: str = "fashion-mnist"


@dataclass(frozen=True)
class Throughput:
    """Recipes taking turns on one batch that stays on the device, in random order over rounds.

    A turn lasts about `turn_s` seconds, one step at least. The first recipe is the baseline. A
    recipe to be compiled is left out where less than `compile_s` seconds are left.
    """

    task: Task
    recipes: tuple[str, ...]
    rounds: int = 7
    turn_s: float = 0.3
    warm_up: int = 5
    compile_s: float = 60.0

    kind = "throughput"


@dataclass(frozen=True)
class Training:
    """Trainings of some epochs, for each seed one per recipe.

    At most on `images` images, with at most half as many to test on.
    """

    task: Task
    recipes: tuple[str, ...]
    epochs: int = 10
    seeds: tuple[int, ...] = (0,)
    learning_rate: float = 0.1
    images: int | None = None

    kind = "training"


@dataclass(frozen=True)
class LargestBatch:
    """The largest batch that fits, for each recipe, of at most `cap_bytes` bytes.

    The search begins at `start` and ends when it is known up to the share `within`.
    """

    task: Task
    recipes: tuple[str, ...]
    cap_bytes: int | None = None
    start: int = 32
    within: float = 1 / 32

    kind = "largest_batch"


@dataclass(frozen=True)
class Gemm:
    """Square matrix products by type of number: "fp32", "tf32", "fp16", "bf16"."""

    sizes: tuple[int, ...] = (1024, 2048, 4096, 8192)
    types: tuple[str, ...] = ("fp32", "tf32", "fp16", "bf16")
    seconds: float = 0.05

    kind = "gemm"
    recipes: tuple[str, ...] = ()


Part = Throughput | Training | LargestBatch | Gemm


@dataclass(frozen=True)
class Plan:
    """Parts in the order they are done, and the seconds that all of them may take.

    `peaks_s` is the time spent on measuring what a CPU can do at most.
    """

    name: str
    says: str
    parts: tuple[Part, ...]
    seconds: float
    peaks_s: float = 2.0
    #: Which FashionMNIST: "auto", "full" or "subset".
    use: str = "auto"

    def __post_init__(self) -> None:
        for part in self.parts:
            for recipe in part.recipes:
                parse(recipe)

    def changed(self, **options: Any) -> Plan:
        """Return the plan with each option set in every part, or its task, that has it.

        None leaves an option as it is. Raises ValueError for one that no part has.
        """
        given = {name: value for name, value in options.items() if value is not None}
        parts = []
        used: set[str] = set()
        for part in self.parts:
            own = _among(part, given)
            task = _among(part.task, given) if not isinstance(part, Gemm) else {}
            used |= {*own, *task}
            if not isinstance(part, Gemm) and task:
                own = {**own, "task": replace(part.task, **task)}
            parts.append(replace(part, **own))
        if set(given) - used:
            left = ", ".join(sorted(set(given) - used))
            raise ValueError(f"no part of the plan {self.name} has {left}; leave it away")
        return replace(self, parts=tuple(parts))

    def timed(self, minutes: float | None = None, use: str | None = None) -> Plan:
        """Return the plan with another time, and another part of FashionMNIST, where given.

        Raises ValueError for no time.
        """
        if minutes is not None and not minutes > 0:
            raise ValueError(f"--minutes {minutes:g} leaves no time; give a number above 0")
        seconds = self.seconds if minutes is None else 60 * minutes
        return replace(self, seconds=seconds, use=self.use if use is None else use)

    def only(self, kinds: tuple[str, ...]) -> Plan:
        """Return the plan with the parts of these kinds; ValueError if there are none."""
        parts = tuple(part for part in self.parts if part.kind in kinds)
        if not parts:
            there = ", ".join(dict.fromkeys(part.kind for part in self.parts))
            raise ValueError(f"the plan {self.name} has no {' or '.join(kinds)}; it has {there}")
        return replace(self, parts=parts)


def recipes_of(part: Part) -> list[Recipe]:
    """Return a part's recipes."""
    return [parse(text) for text in part.recipes]


def _among(record: Any, given: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(record)} - {"task"}
    return {name: value for name, value in given.items() if name in names}
