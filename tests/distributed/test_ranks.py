"""What each process of a training is and does; two real processes under torchrun with gloo.

What equals what: the gradient that two processes have after the backward pass is, bit for bit,
that of one process which adds the gradients of the two halves of the batch. Against one process
that takes the batch whole, sums come in another order, and batch norms see the statistics of all
images, not of a half: equal bits only where no sum rounds and nothing normalises over the batch.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from ampcourse.distributed import SINGLE, Ranks, launch, process_group, ranks_of

WORKER = Path(__file__).with_name("worker.py")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes saw in all cases."""
    return run(tmp_path_factory.mktemp("two"), 2)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the only process saw."""
    [seen] = run(tmp_path_factory.mktemp("one"), 1)
    return seen


def run(folder: Path, processes: int) -> list[dict[str, Any]]:
    launch([str(WORKER), "see", str(folder)], processes, timeout=240)
    return [torch.load(folder / f"{rank}.pt") for rank in range(processes)]


def same_bits(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return len(a) == len(b) > 0 and all(
        x.dtype == y.dtype and torch.equal(x.view(torch.int32), y.view(torch.int32))
        for x, y in zip(a, b, strict=True)
    )


def test_gradients_of_two_processes_are_bit_for_bit_those_of_one_that_adds_both_halves(
    two: list[dict[str, Any]], alone: dict[str, Any]
) -> None:
    assert same_bits(two[0]["parts"], two[1]["parts"])
    assert same_bits(two[0]["parts"], alone["parts"])
    assert not same_bits(alone["parts"], alone["whole"])  # batch norms: the reason for the halves


def test_where_no_sum_rounds_they_are_bit_for_bit_those_of_the_whole_batch(
    two: list[dict[str, Any]], alone: dict[str, Any]
) -> None:
    assert same_bits(two[0]["integers"], two[1]["integers"])
    assert same_bits(two[0]["integers"], alone["integers"])
    largest = max(gradient.abs().max().item() for gradient in alone["integers"])
    assert 8 < largest < 2**24 / 8  # with the batch's factor of 8 a whole number FP32 holds


@pytest.mark.parametrize("scaler", ["torch's scaler", "ours"])
def test_an_overflow_in_one_process_makes_all_skip_that_step_and_halve_the_scale(
    scaler: str, two: list[dict[str, Any]]
) -> None:
    seen = [process[f"overflow, {scaler}"] for process in two]
    assert [one["own_input_finite"] for one in seen] == [[True] * 3, [True, False, True]]
    for one in seen:
        assert one["scales"] == [1024.0, 512.0, 512.0]
        before, skipped, after = one["weights"]
        assert same_bits([before], [skipped])
        assert not same_bits([skipped], [after])
        assert after.isfinite().all()
    assert same_bits(seen[0]["weights"], seen[1]["weights"])


def test_sums_are_those_over_all_processes(
    two: list[dict[str, Any]], alone: dict[str, Any]
) -> None:
    assert [process["sum"].tolist() for process in two] == [[2.0, 1.0]] * 2
    assert alone["sum"].tolist() == [1.0, 0.0]


def test_parts_of_a_global_batch_are_disjoint_and_all_of_it() -> None:
    positions = torch.randperm(12)
    parts = [Ranks(rank, 3).part(positions) for rank in range(3)]
    assert [len(part) for part in parts] == [4, 4, 4]
    assert torch.cat(parts).equal(positions)


@pytest.mark.parametrize(
    ("batch", "processes", "choices"), [(255, 2, "254 or 256"), (1, 2, "2"), (0, 1, "1")]
)
def test_a_batch_that_cannot_be_cut_equally_is_refused_with_those_that_can(
    batch: int, processes: int, choices: str
) -> None:
    with pytest.raises(ValueError, match=rf"global batch of {batch} cannot .* choose {choices},"):
        Ranks(0, processes).share(batch)


FULL = {
    "RANK": "1",
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "1",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "1",
}


def test_torchruns_environment_says_who_this_process_is() -> None:
    assert ranks_of({}) == SINGLE
    assert ranks_of(FULL) == Ranks(1, 2, 1, "gloo")
    assert ranks_of(FULL, "cuda").backend == "nccl"
    assert ranks_of(FULL | {"WORLD_SIZE": "1", "RANK": "0"}) == SINGLE
    assert (SINGLE.reports, ranks_of(FULL).reports) == (True, False)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"MASTER_PORT": None}, "but no MASTER_PORT; start with torchrun"),
        ({"RANK": None, "LOCAL_RANK": None}, "but no RANK, LOCAL_RANK"),
        ({"RANK": "2"}, "RANK=2 is not below WORLD_SIZE=2"),
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE='two' is not a whole number"),
    ],
)
def test_half_an_environment_is_refused(changed: dict[str, str | None], message: str) -> None:
    environment = {k: v for k, v in {**FULL, **changed}.items() if v is not None}
    with pytest.raises(ValueError, match=re.escape(message)):
        ranks_of(environment)


def test_alone_nothing_is_joined_watched_or_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FULL:
        monkeypatch.delenv(name, raising=False)
    model = torch.nn.Linear(1, 1)
    threads = threading.active_count()
    with process_group() as ranks:
        assert ranks is SINGLE
        assert ranks.wrap(model) is model
        assert threading.active_count() == threads
        assert not torch.distributed.is_initialized()


def test_more_processes_than_gpus_is_refused_with_what_to_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in FULL.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    message = "process 1 of this machine has no GPU: there is 1 .* --nproc-per-node 1 or --device"
    with pytest.raises(ValueError, match=message), process_group("cuda"):
        pass


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, ampcourse.distributed; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_single_process_can_have_a_group_of_one_and_leaves_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in FULL:
        monkeypatch.delenv(name, raising=False)
    with process_group(alone=True) as ranks:
        assert ranks is SINGLE
        assert torch.distributed.get_world_size() == 1
    assert not torch.distributed.is_initialized()
