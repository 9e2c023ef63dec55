"""Bytes per rank of weights, gradients and optimizer state when ZeRO divides them among ranks.

Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020
(arXiv 1910.02054): section 5 divides more with each stage, section 7 counts what is sent. FSDP2's
`fully_shard` is stage 3, plain DDP is stage 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ampcourse.memory.ledger import RECIPES as LEDGER_RECIPES
from ampcourse.memory.ledger import Assumptions, Row, ledger

#: What each stage divides among the ranks; FP32 masters go with the optimizer state.
DIVIDED: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        0: (),
        1: ("optimizer state",),
        2: ("optimizer state", "gradients"),
        3: ("optimizer state", "gradients", "weights"),
    }
)

#: The kinds of precision by name: the ledger's, and "masters", which is the ZeRO paper's and what
#: DeepSpeed keeps for FP16 or BF16: 16-bit weights and gradients, FP32 masters and state.
RECIPES: Mapping[str, Assumptions] = MappingProxyType(
    {"masters": Assumptions("half", "half", master_weights=True), **LEDGER_RECIPES}
)

#: How uneven sizes are divided: one flat buffer of all tensors; the same with an even number for
#: each rank (DeepSpeed's stages 1 and 2, whose alignment of 4 bytes is two 16-bit numbers); each
#: tensor by its numbers (DeepSpeed's stage 3); each tensor by rows of its first axis (FSDP2).
DIVISIONS = ("flat", "even", "tensors", "rows")


@dataclass(frozen=True)
class ShardBytes:
    """What the fullest rank keeps when the optimizer steps, in bytes; no other keeps more.

    `optimizer_state` counts FP32 masters, as the paper's K does. `padding` is how many numbers all
    ranks' shards together have beyond the parameters, where something is divided.
    """

    stage: int
    ranks: int
    weights: int
    gradients: int
    optimizer_state: int
    padding: int = 0

    @property
    def total(self) -> int:
        """Bytes of all three."""
        return self.weights + self.gradients + self.optimizer_state


def zero_bytes(
    parameters: int | Iterable[Sequence[int]],
    ranks: int,
    stage: int,
    optimizer: str = "adam",
    recipe: str | Assumptions = "masters",
    *,
    division: str = "flat",
) -> ShardBytes:
    """Return the bytes that a rank keeps under a stage of ZeRO, 0 (DDP) to 3 (FSDP2).

    `parameters` is their number or the shapes of the tensors; `optimizer` is "sgd", "momentum" or
    "adam"; `recipe` is one of RECIPES ("masters", "autocast", "half", "fp32", "O2") or Assumptions
    of one's own. `division` says how uneven sizes are divided; see DIVISIONS. What is divided is
    rounded up to the fullest rank's share, what is not is kept whole. Stage 1 counts all gradients,
    as the paper does; DeepSpeed lets go of other ranks' before the optimizer steps.

    Left out: activations, autocast's passing casts, buffers for sending, the layer that stage 3
    gathers while it runs, small weights that DeepSpeed's stage 3 keeps whole, and the optimizer's
    step counts. Raises ValueError for an unknown name, a stage other than 0 to 3, fewer than 1
    rank, a negative size, and a number where shapes are needed; TypeError for a float.

    >>> [zero_bytes(7_500_000_000, 64, stage).total / 1e9 for stage in (0, 1, 2, 3)]
    [120.0, 31.40625, 16.640625, 1.875]
    """
    divided = _divided(stage)
    rows = ledger(optimizer, _recipe(recipe)).rows
    parameters = _read_once(parameters)
    share = shard_size(parameters, ranks, division)
    # DeepSpeed's 16-bit weights are views of the flat buffer, padding included.
    whole = share * ranks if divided and division == "even" else _count(parameters)
    sizes = dict.fromkeys(DIVIDED[3], 0)
    for row in rows:
        if not row.passing:
            kind = _kind(row)
            sizes[kind] += row.bytes * (share if kind in divided else whole)
    padding = share * ranks - _count(parameters) if divided else 0
    state = sizes["optimizer state"]
    return ShardBytes(stage, ranks, sizes["weights"], sizes["gradients"], state, padding)


def shard_size(
    parameters: int | Iterable[Sequence[int]], ranks: int, division: str = "flat"
) -> int:
    """Return how many numbers the fullest of the ranks holds of divided parameters.

    Raises as `zero_bytes` does.

    >>> shard_size(10, 4), shard_size(10, 4, "even"), shard_size([(3, 3), (3,)], 2)
    (3, 4, 6)
    >>> shard_size([(3, 3), (3,)], 2, "tensors"), shard_size([(3, 3), (3,)], 2, "rows")
    (7, 8)
    """
    parameters = _read_once(parameters)
    if ranks < 1:
        raise ValueError(f"{ranks} ranks cannot be; give 1 or more")
    if division not in DIVISIONS:
        raise ValueError(f"division {division!r} is unknown; choose from {', '.join(DIVISIONS)}")
    if division == "flat":
        return _up(_count(parameters), ranks)
    if division == "even":
        return 2 * _up(_count(parameters), 2 * ranks)
    if isinstance(parameters, int):
        raise ValueError(
            f"division={division!r} needs the shapes of the tensors, not their {parameters} "
            "numbers; give [p.shape for p in model.parameters()]"
        )
    if division == "tensors":
        return sum(_up(math.prod(shape), ranks) for shape in parameters)
    return sum(_up(shape[0], ranks) * math.prod(shape[1:]) for shape in parameters)


@dataclass(frozen=True)
class Traffic:
    """What each rank sends in one training step, in bytes, and receives as much.

    `reduce` is for adding up gradients, `gather` for handing out weights. In DDP's all-reduce,
    which is a reduce-scatter and an all-gather, both halves are gradients.
    """

    stage: int
    reduce: int
    gather: int

    @property
    def total(self) -> int:
        """Bytes of both."""
        return self.reduce + self.gather


def zero_traffic(
    parameters: int,
    ranks: int,
    stage: int,
    recipe: str | Assumptions = "masters",
    *,
    gathered: str | None = None,
) -> Traffic:
    """Return the bytes that each rank sends per step by ring algorithms, without accumulation.

    Reduce-scatter and all-gather each send (ranks - 1) shards. Stage 0 does both with gradients;
    stages 1 and 2 gather updated weights instead; stage 3 gathers weights twice, for the forward
    and the backward pass. Gradients and weights are sent in the types they are kept in;
    `gathered`, "half" or "fp32", is another type for weights under stage 3, such as FSDP2's
    MixedPrecisionPolicy(param_dtype=torch.bfloat16). Raises as `zero_bytes` does.

    >>> [zero_traffic(64, 64, stage).total / (2 * 63) for stage in (0, 1, 2, 3)]
    [2.0, 2.0, 2.0, 3.0]
    """
    _divided(stage)
    rows = {row.what: row.bytes for row in ledger("sgd", _recipe(recipe)).rows}
    one = shard_size(parameters, ranks) * (ranks - 1)
    return Traffic(stage, one * rows["gradients"], one * _gather_bytes(stage, rows, gathered))


def _gather_bytes(stage: int, rows: Mapping[str, int], gathered: str | None) -> int:
    """Return bytes gathered per parameter."""
    if gathered is not None and stage != 3:
        raise ValueError(f"gathered={gathered!r} is for stage 3; stage {stage} keeps whole weights")
    if stage == 0:
        return rows["gradients"]
    if gathered is None:
        return rows["weights"] * (2 if stage == 3 else 1)
    return 2 * ledger("sgd", Assumptions(weights=gathered)).rows[0].bytes


def _divided(stage: int) -> tuple[str, ...]:
    if stage not in DIVIDED:
        raise ValueError(f"stage {stage!r} is unknown; ZeRO has 1, 2 and 3, and 0 is plain DDP")
    return DIVIDED[stage]


def _recipe(recipe: str | Assumptions) -> Assumptions:
    if isinstance(recipe, Assumptions):
        return recipe
    if recipe not in RECIPES:
        raise ValueError(f"recipe {recipe!r} is unknown; choose from {', '.join(RECIPES)}")
    return RECIPES[recipe]


def _kind(row: Row) -> str:
    """Return which of the three a row of the ledger belongs to.

    FP32 copies of 16-bit weights and gradients are made for the update, by the rank that makes it.
    """
    return row.what if row.what in ("weights", "gradients") else "optimizer state"


def _read_once(parameters: int | Iterable[Sequence[int]]) -> int | list[Sequence[int]]:
    """Return a generator of shapes as a list, which can be read again."""
    if isinstance(parameters, float):
        raise TypeError(f"{parameters} parameters: give a whole number, such as int(7.5e9)")
    return parameters if isinstance(parameters, int) else list(parameters)


def _count(parameters: int | Iterable[Sequence[int]]) -> int:
    if not isinstance(parameters, int):
        return sum(math.prod(shape) for shape in parameters)
    if parameters < 0:
        raise ValueError(f"{parameters} parameters cannot be; give 0 or more")
    return parameters


def _up(size: int, ranks: int) -> int:
    return -(-size // ranks)
