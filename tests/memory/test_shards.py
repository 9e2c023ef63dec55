"""Bytes per rank are those of the ZeRO paper, of FSDP2's tensors and of DeepSpeed's formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils._python_dispatch import TorchDispatchMode

from ampcourse.engines.scenes import recorded
from ampcourse.memory import ledger
from ampcourse.memory.ledger import STATE
from ampcourse.memory.shards import (
    DIVISIONS,
    RECIPES,
    ShardBytes,
    shard_size,
    zero_bytes,
    zero_traffic,
)

STAGES = (0, 1, 2, 3)
# Rows of 7, 5, 5 and 1 numbers that 4 ranks cannot divide evenly.
SHAPES = [(5, 7), (5,), (3, 5), (3,)]
PARAMETERS = 58
RANKS = 4
POLICY = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def test_a_model_of_7_5_billion_on_64_ranks_has_the_figures_of_the_zero_paper() -> None:
    # Quoted: Rajbhandari et al., arXiv 1910.02054, figure 1, in GB of 10^9 bytes.
    quoted = {0: 120, 1: 31.4, 2: 16.6, 3: 1.9}
    told = {stage: zero_bytes(7_500_000_000, 64, stage).total / 1e9 for stage in STAGES}
    assert {stage: round(gigabytes, 1) for stage, gigabytes in told.items()} == quoted


def test_the_papers_16_bytes_are_2_and_2_and_12() -> None:
    found = zero_bytes(1000, 1, 0)
    assert (found.weights, found.gradients, found.optimizer_state) == (2000, 2000, 12_000)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("optimizer", STATE)
def test_on_one_rank_every_stage_keeps_what_the_ledger_says(optimizer: str, recipe: str) -> None:
    kept = ledger(optimizer, RECIPES[recipe]).kept * PARAMETERS
    for stage in STAGES:
        assert zero_bytes(PARAMETERS, 1, stage, optimizer, recipe).total == kept


def test_each_stage_divides_one_thing_more() -> None:
    whole = zero_bytes(6400, 64, 0)
    parts = [zero_bytes(6400, 64, stage) for stage in STAGES]
    assert [whole.optimizer_state // part.optimizer_state for part in parts] == [1, 64, 64, 64]
    assert [whole.gradients // part.gradients for part in parts] == [1, 1, 64, 64]
    assert [whole.weights // part.weights for part in parts] == [1, 1, 1, 64]


def test_stage_2_in_o2_is_deepspeeds_own_estimate() -> None:
    estimates = pytest.importorskip(
        "deepspeed.runtime.zero.stage_1_and_2", reason="needs deepspeed"
    )
    for parameters, ranks in ((2**20, 1), (2**20, 8), (7_500_000_000, 64)):
        _, gpu = estimates.estimate_zero2_model_states_mem_needs(
            parameters, num_gpus_per_node=ranks, cpu_offload=False
        )
        assert zero_bytes(parameters, ranks, 2, "adam", "O2").total == gpu


def test_even_shares_are_padded_as_deepspeed_pads_its_flat_buffer() -> None:
    padding = pytest.importorskip(
        "deepspeed.runtime.zero.stage_1_and_2", reason="needs deepspeed"
    ).get_alignment_padding
    for parameters in (1, 7, 8, 57, 58, 1000):
        for ranks in (1, 2, 3, 8):
            padded = parameters + padding([torch.empty(parameters)], 2 * ranks)
            assert shard_size(parameters, ranks, "even") * ranks == padded


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 64])
def test_the_fullest_share_is_that_of_numpys_array_split(ranks: int) -> None:
    split = [np.array_split(np.empty(shape).ravel(), ranks) for shape in SHAPES]
    assert shard_size(SHAPES, ranks, "tensors") == sum(len(parts[0]) for parts in split)
    assert shard_size(SHAPES, ranks, "flat") == len(np.array_split(np.empty(PARAMETERS), ranks)[0])
    rows = [np.array_split(np.empty(shape), ranks)[0].size for shape in SHAPES]
    assert shard_size(SHAPES, ranks, "rows") == sum(rows)


@pytest.mark.parametrize("division", DIVISIONS)
def test_padding_is_what_all_shares_have_beyond_the_parameters(division: str) -> None:
    found = zero_bytes(SHAPES, RANKS, 3, "sgd", "fp32", division=division)
    assert found.padding * 4 == found.weights * RANKS - PARAMETERS * 4
    assert zero_bytes(SHAPES, RANKS, 0, division=division).padding == 0


@pytest.mark.parametrize("division", DIVISIONS)
def test_shapes_may_come_from_a_generator(division: str) -> None:
    net = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 3))
    told = zero_bytes((p.shape for p in net.parameters()), RANKS, 2, division=division)
    assert told == zero_bytes(SHAPES, RANKS, 2, division=division)


def test_a_float_is_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match=re.escape("give a whole number, such as int(7.5e9)")):
        zero_bytes(7.5e9, 64, 1)  # type: ignore[arg-type]


class Sent(TorchDispatchMode):
    """Adds up the bytes that a rank would send in FSDP2's collectives."""

    def __init__(self) -> None:
        super().__init__()
        self.gather = self.reduce = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = str(func)
        if "allgather" in name:
            self.gather += (RANKS - 1) * args[1].nbytes  # its shard, to every other rank
        elif "reduce_scatter" in name:
            self.reduce += (RANKS - 1) * args[0].nbytes
        return func(*args, **(kwargs or {}))


@pytest.fixture(params=[0, RANKS - 1])
def rank(request: pytest.FixtureRequest) -> Iterator[int]:
    """Make this process one of RANKS; torch's fake group sends nothing."""
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    dist.init_process_group("fake", rank=request.param, world_size=RANKS, store=fake.FakeStore())
    yield request.param
    dist.destroy_process_group()


def sharded_step(policy: MixedPrecisionPolicy) -> tuple[nn.Module, torch.optim.Optimizer, Sent]:
    """Take a step of a net with SHAPES under FSDP2."""
    net = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3))
    assert [tuple(p.shape) for p in net.parameters()] == SHAPES
    mesh = init_device_mesh("cpu", (RANKS,))
    for module in (net[0], net[2], net):
        fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
    optimizer = torch.optim.Adam(net.parameters())
    with Sent() as sent:
        net(torch.ones(2, 7)).sum().backward()
    optimizer.step()
    return net, optimizer, sent


def held(tensors: Any) -> int:
    """Return the bytes of the storages that hold these sharded tensors, each once."""
    storages = [tensor._local_tensor.untyped_storage() for tensor in tensors]
    return sum({s.data_ptr(): s.nbytes() for s in storages}.values())


def test_fsdp2_holds_the_weights_gradients_and_state_of_stage_3(rank: int) -> None:
    net, optimizer, _ = sharded_step(MixedPrecisionPolicy())
    state = [v for s in optimizer.state.values() for name, v in s.items() if name != "step"]
    found = zero_bytes(SHAPES, RANKS, 3, "adam", "fp32", division="rows")
    measured = ShardBytes(
        3,
        RANKS,
        held(net.parameters()),
        held(p.grad for p in net.parameters()),
        held(state),
        found.padding,
    )
    if rank == 0:
        assert measured == found
    else:  # the last rank pads weights and gradients too, but has no rows and so no state
        assert (measured.weights, measured.gradients) == (found.weights, found.gradients)
        assert measured.optimizer_state == 0


@pytest.mark.parametrize("policy", [MixedPrecisionPolicy(), POLICY], ids=["fp32", "bf16"])
def test_fsdp2_sends_the_traffic_of_stage_3(rank: int, policy: MixedPrecisionPolicy) -> None:
    _, _, sent = sharded_step(policy)
    gathered = "half" if policy.param_dtype else None
    padded = shard_size(SHAPES, RANKS, "rows") * RANKS
    found = zero_traffic(padded, RANKS, 3, "autocast", gathered=gathered)
    assert (sent.gather, sent.reduce) == (found.gather, found.reduce)


def recorded_bytes(scene: str, run: str) -> dict[str, set[int]]:
    """Return what each of 2 ranks kept in a recorded run, by kind: one number if they are alike."""
    return {kind: set(kept) for kind, kept in recorded(scene)["result"]["bytes"][run].items()}


def by_formula(scene: str, stage: int, recipe: str, division: str) -> dict[str, set[int]]:
    found = zero_bytes(
        recorded(scene)["result"]["shapes"], 2, stage, "adam", recipe, division=division
    )
    sizes = (found.weights, found.gradients, found.optimizer_state)
    return {
        kind: {size}
        for kind, size in zip(("weights", "gradients", "optimizer"), sizes, strict=True)
    }


@pytest.mark.parametrize("run", ["ddp", "ddp bf16"])
def test_ddp_kept_what_stage_0_says_in_a_recorded_run(run: str) -> None:
    assert recorded_bytes("fsdp2", run) == by_formula("fsdp2", 0, "autocast", "flat")


@pytest.mark.parametrize("run", ["fsdp2", "fsdp2 bf16"])
def test_fsdp2_kept_what_stage_3_says_in_a_recorded_run(run: str) -> None:
    assert recorded_bytes("fsdp2", run) == by_formula("fsdp2", 3, "autocast", "rows")


@pytest.mark.parametrize(("stage", "division"), [(1, "even"), (2, "even"), (3, "tensors")])
def test_deepspeed_kept_what_each_stage_says_in_a_recorded_run(stage: int, division: str) -> None:
    kept = recorded_bytes("deepspeed", f"zero{stage} bf16")
    told = by_formula("deepspeed", stage, "masters", division)
    if stage == 1:  # the paper's stage 1 keeps all gradients, DeepSpeed those of stage 2
        told["gradients"] = by_formula("deepspeed", 2, "masters", division)["gradients"]
    assert kept == told


def test_traffic_is_twice_the_parameters_and_three_times_in_stage_3() -> None:
    # Quoted: the paper's sections 7.1 and 7.2, 2 psi for all but stage 3, and 3 psi there.
    told = [zero_traffic(64, 64, stage, "half").total / (2 * 63) for stage in STAGES]
    assert told == [2, 2, 2, 3]


def test_autocast_under_ddp_sends_as_much_as_fp32() -> None:
    assert zero_traffic(10**6, 8, 0, "autocast") == zero_traffic(10**6, 8, 0, "fp32")
    assert zero_traffic(10**6, 8, 0, "masters").total * 2 == zero_traffic(10**6, 8, 0, "fp32").total


def test_one_rank_sends_nothing() -> None:
    assert [zero_traffic(100, 1, stage).total for stage in STAGES] == [0] * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zero_bytes(10, 2, 4), "stage 4 is unknown; ZeRO has 1, 2 and 3, and 0 is plain"),
        (lambda: zero_bytes(10, 0, 1), "0 ranks cannot be; give 1 or more"),
        (lambda: zero_bytes(-1, 2, 1), "-1 parameters cannot be; give 0 or more"),
        (lambda: zero_bytes(10, 2, 1, "lion"), "optimizer 'lion' is unknown; choose from sgd"),
        (lambda: zero_bytes(10, 2, 1, "adam", "O1"), "recipe 'O1' is unknown; choose from masters"),
        (lambda: zero_bytes(10, 2, 3, division="cols"), "division 'cols' is unknown; choose from"),
        (lambda: zero_bytes(10, 2, 3, division="rows"), "needs the shapes of the tensors"),
        (
            lambda: zero_traffic(10, 2, 2, gathered="half"),
            "gathered='half' is for stage 3; stage 2",
        ),
        (lambda: zero_traffic(10, 2, 3, gathered="fp8"), "'fp8' is no type of number here"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
