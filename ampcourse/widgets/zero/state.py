"""The state of the shard painter: a stage, ranks, a model and how it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ampcourse.memory.ledger import STATE
from ampcourse.memory.shards import DIVIDED, ShardBytes, Traffic, zero_bytes, zero_traffic
from ampcourse.widgets.zero import words

RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024)
STAGES = tuple(DIVIDED)
RECIPES = tuple(words.RECIPES)
#: A ResNet50; the 1.5 billion of GPT-2 and the 7.5 billion of the ZeRO paper; 70 billion.
PARAMETERS = (25_557_032, 1_500_000_000, 7_500_000_000, 70_000_000_000)


@dataclass(frozen=True)
class ShardState:
    """What is divided among whom; raises ValueError for what there is not.

    `parameters` may be any number from 1.
    """

    stage: int
    ranks: int
    parameters: int
    optimizer: str
    recipe: str

    def __post_init__(self) -> None:
        for what, value, legal in (
            ("stage", self.stage, STAGES),
            ("ranks", self.ranks, RANKS),
            ("optimizer", self.optimizer, tuple(STATE)),
            ("recipe", self.recipe, RECIPES),
        ):
            _check(what, value, legal)
        if self.parameters < 1:
            raise ValueError(words.no_parameters(self.parameters))

    @property
    def bytes(self) -> ShardBytes:
        """What the fullest rank keeps."""
        return self.at_stage(self.stage)

    def at_stage(self, stage: int) -> ShardBytes:
        """Return what the fullest rank would keep in a stage."""
        return zero_bytes(self.parameters, self.ranks, stage, self.optimizer, self.recipe)

    def traffic(self, stage: int, gathered: str | None = None) -> Traffic:
        """Return what each rank sends per step in a stage."""
        return zero_traffic(self.parameters, self.ranks, stage, self.recipe, gathered=gathered)

    def with_stage(self, stage: int) -> ShardState:
        """Choose another stage."""
        return replace(self, stage=int(stage))

    def with_ranks(self, ranks: int) -> ShardState:
        """Divide among another number of ranks."""
        return replace(self, ranks=int(ranks))

    def with_parameters(self, parameters: int) -> ShardState:
        """Take another model."""
        return replace(self, parameters=int(parameters))

    def with_optimizer(self, optimizer: str) -> ShardState:
        """Choose another optimizer."""
        return replace(self, optimizer=optimizer)

    def with_recipe(self, recipe: str) -> ShardState:
        """Choose other types of numbers."""
        return replace(self, recipe=recipe)


def _check(what: str, value: object, legal: Sequence[object]) -> None:
    if value not in legal:
        raise ValueError(words.unknown(what, value, legal))
