"""What checkpointing in segments would hold and compute again, from one recording of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from ampcourse.memory.activations import SavedTensors
from ampcourse.memory.checkpointing import bounds


@dataclass(frozen=True)
class Plan:
    """Bytes that a chain in so many segments holds for its backward pass, and layers run twice.

    `kept` is held when the forward pass has ended; `peak` is the most that is held, whether then
    or while a segment is computed again. One segment is no checkpointing.
    """

    segments: int
    layers: int
    kept: int
    peak: int
    recomputed: int

    @property
    def extra_forward(self) -> float:
        """The share of the layers that is computed a second time, by number."""
        return self.recomputed / self.layers


class Recording:
    """What each layer of a chain saved in one forward pass, by storage; `plan` divides it.

    `x` is the chain's input. With autocast entered around it, it records what autocast saves. The
    running statistics of batch norms move, as in any forward pass: give a copy where that matters.
    Raises ValueError for a chain without layers or with a layer that occurs twice.
    """

    def __init__(self, chain: nn.Sequential, x: torch.Tensor) -> None:
        self.names = list(chain._modules)
        self._check(chain)
        with SavedTensors(chain) as saved:
            output = chain(x)
        del output
        self._sizes = {row.storage: row.bytes for row in saved.rows}
        self._sizes |= dict(saved.inputs.values())
        self._inputs = [saved.inputs[name][0] for name in self.names]
        self._saved = [
            {row.storage for row in saved.rows if row.module.split(".")[0] == name}
            for name in self.names
        ]

    def _check(self, chain: nn.Sequential) -> None:
        if not self.names:
            raise ValueError("a chain without layers saves nothing; give one with layers")
        first: dict[int, str] = {}
        for name, layer in chain._modules.items():
            if first.setdefault(id(layer), name) != name:
                raise ValueError(
                    f"layer {name!r} is layer {first[id(layer)]!r} once more, and what it saves "
                    "cannot be told apart by layer; give a chain of distinct layers"
                )

    @property
    def bytes_by_layer(self) -> list[int]:
        """Bytes that each layer is the first to save."""
        seen: set[int] = set()
        found = []
        for storages in self._saved:
            found.append(self._bytes(storages - seen))
            seen |= storages
        return found

    def plan(self, segments: int) -> Plan:
        """Return what so many segments hold and recompute; ValueError as for `bounds`.

        While a segment is computed again, its layers' results are held, and the inputs of it and
        of the segments before it; those after it are done. Weight casts are held only by the
        segment that made them.
        """
        parts = bounds(len(self.names), segments)
        starts = [self._inputs[start] for start, _ in parts[:-1]]
        kept = self._bytes({*starts, *self._union(parts[-1])})
        held = [self._bytes({*starts[: i + 1], *self._union(part)}) for i, part in enumerate(parts)]
        return Plan(segments, len(self.names), kept, max(held), parts[-1][0])

    def plans(self) -> list[Plan]:
        """Return the plans for one segment to one per layer."""
        return [self.plan(segments) for segments in range(1, len(self.names) + 1)]

    def _union(self, part: tuple[int, int]) -> set[int]:
        return set().union(*self._saved[slice(*part)])

    def _bytes(self, storages: Sequence[int] | set[int]) -> int:
        return sum(self._sizes[storage] for storage in set(storages))
