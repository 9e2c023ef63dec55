"""A run ends with its rows on the disk, whatever goes wrong on the way."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ampcourse.benchmark import rows, runner, trainings
from ampcourse.benchmark.compiler import compiler_problem
from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.plans import Gemm, LargestBatch, Plan, Task, Throughput, Training
from ampcourse.benchmark.presets import REHEARSAL
from ampcourse.benchmark.runner import Interrupted, probe, run
from ampcourse.benchmark.steps import Step
from ampcourse.benchmark.training_run import train
from tests.benchmark.fake_cuda import fake_machine

TASK = Task("tiny", "3x3", 12, 8, "synthetic")
FAST = Throughput(TASK, ("fp32", "amp-bf16"), rounds=3, turn_s=0.0, warm_up=1)
TRAINED = Training(TASK, ("fp32", "amp-fp16"), epochs=2, images=32)


def plan(*parts: Any, seconds: float = 300.0, use: str = "auto") -> Plan:
    return Plan("test", "for tests", parts, seconds, peaks_s=0.0, use=use)


def gpu_parts() -> tuple[Any, ...]:
    """Return the parts of the rehearsal without what is compiled."""
    return REHEARSAL.parts[:-1]


@pytest.mark.parametrize("machine", [Machine(), fake_machine()], ids=["cpu", "cuda"])
def test_every_path_of_the_gpu_plan_is_taken_on_a_cpu(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "rows.jsonl"
    plain = Step.step

    def step(self: Step, images: Any, labels: Any, between: Any = None) -> torch.Tensor:
        if len(images) > 100:  # a GPU is filled until it is full
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return plain(self, images, labels, between)

    monkeypatch.setattr(Step, "step", step)
    found = run(plan(*gpu_parts()), machine, out, quiet=True)
    assert rows.read(out) == json.loads(json.dumps(found))
    wanted = sum(
        len(part.sizes) * len(part.types) if isinstance(part, Gemm) else len(part.recipes)
        for part in gpu_parts()
    )
    assert len(found) == wanted
    assert {(row["kind"], row["recipe"]) for row in found if row["status"] != "ok"} == set()
    speeds = {row["recipe"] for row in found if row["kind"] == "throughput"}
    assert speeds == set(gpu_parts()[0].recipes)
    for row in found:
        assert row["machine"]["kind"] == machine.kind
        assert {"driver", "torch", "tf32", "clocks_before", "clocks_after"} <= set(row["machine"])
        assert row["preset"] == "test"
    for row in found:
        if row["kind"] == "training":
            assert len(row["epochs"]) == 2
            assert {"accuracy", "precision", "recall", "f1"} <= {
                name.removeprefix("test_") for name in row["final"]
            }
    torch.backends.cudnn.benchmark = False


@pytest.mark.slow
def test_a_compiled_recipe_is_measured(tmp_path: Path) -> None:
    problem = compiler_problem(Machine())
    if problem:
        pytest.skip(problem)
    found = run(plan(REHEARSAL.parts[-1]), Machine(), tmp_path / "rows.jsonl", quiet=True)
    assert [row["status"] for row in found] == ["ok"] * len(REHEARSAL.parts[-1].recipes)
    assert [row["compiled"] for row in found] == [False, True]


def test_each_row_is_on_the_disk_when_the_next_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "rows.jsonl"
    seen = []

    def part(what: Any, context: Any) -> Iterator[rows.Row]:
        for number in range(3):
            seen.append(len(rows.read(out)) if out.exists() else 0)
            yield context.row("gemm", "ok", seed=number, m=1)

    monkeypatch.setattr(runner, "gemm", part)
    monkeypatch.setattr(runner, "line", lambda row: "")
    run(plan(Gemm()), Machine(), out, quiet=True)
    assert seen == [0, 1, 2]


def test_rows_are_added_to_a_file_and_earlier_ones_stay(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    run(plan(Gemm((8,), ("fp32",), 0.001)), Machine(), out, quiet=True)
    before = out.read_bytes()
    run(plan(Gemm((8,), ("fp32",), 0.001)), Machine(), out, quiet=True)
    assert out.read_bytes().startswith(before)
    assert len(rows.read(out)) == 2


def test_ctrl_c_keeps_finished_rows_and_says_so_in_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(what: Any, context: Any) -> Iterator[rows.Row]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(runner, "trainings", stopped)
    out = tmp_path / "rows.jsonl"
    with pytest.raises(Interrupted) as caught:
        run(plan(FAST, TRAINED, Gemm()), Machine(), out, quiet=True)
    found = rows.read(out)
    assert [row["status"] for row in found] == ["ok", "ok", "interrupted"]
    assert found[-1]["kind"] == "failure"
    assert len(caught.value.rows) == 3


def test_a_part_that_fails_costs_its_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(what: Any, context: Any) -> Iterator[rows.Row]:
        yield context.row("training", "ok", final={}, epochs=[], wall_s=1.0)
        raise RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED")

    monkeypatch.setattr(runner, "trainings", broken)
    found = run(
        plan(TRAINED, Gemm((8,), ("fp32",), 0.001)), Machine(), tmp_path / "r.jsonl", quiet=True
    )
    assert [(row["kind"], row["status"]) for row in found] == [
        ("training", "ok"),
        ("failure", "failed"),
        ("gemm", "ok"),
    ]
    assert "training: RuntimeError: cuDNN error" in found[1]["message"]


def test_a_training_without_memory_ends_its_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = train

    def sometimes(step: Any, *args: Any, **more: Any) -> Any:
        if step.recipe.base == "fp32":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB.")
        return plain(step, *args, **more)

    monkeypatch.setattr(trainings, "train", sometimes)
    found = run(plan(TRAINED), fake_machine(), tmp_path / "rows.jsonl", quiet=True)
    assert [row["status"] for row in found] == ["out_of_memory", "ok"]
    assert "9.00 GiB" in found[0]["message"]
    assert found[1]["scale_history"]
    torch.backends.cudnn.benchmark = False


def test_what_the_time_does_not_allow_has_a_row_that_says_so(tmp_path: Path) -> None:
    largest = LargestBatch(TASK, ("fp32",), 2**26)
    found = run(
        plan(FAST, TRAINED, largest, seconds=-1.0), Machine(), tmp_path / "r.jsonl", quiet=True
    )
    assert [row["status"] for row in found] == ["skipped"] * 5
    assert all("left out" in row["message"] for row in found)


def test_a_folder_that_takes_no_file_is_an_error_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "gemm", lambda *_: pytest.fail("measured"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="results cannot be written; choose a file in a folder"):
        run(plan(Gemm()), Machine(), tmp_path / "file" / "rows.jsonl", quiet=True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_an_error_that_says_what_to_try(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="choose a file in a folder you may write to"):
            probe(tmp_path / "rows.jsonl")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_is_read_only_to_root_as_well_is_such_an_error(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(OSError, match="choose a file in a folder you may write to"):
        probe(tmp_path / "rows.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, as Linux has it")
def test_a_full_disk_is_an_error_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "gemm", lambda *_: pytest.fail("measured"))
    with pytest.raises(OSError, match=r"No space left on device.*free some space"):
        run(plan(Gemm()), Machine(), Path("/dev/full"), quiet=True)


def test_a_probe_leaves_a_file_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "new" / "rows.jsonl"
    probe(out)
    assert out.read_bytes() == b""
    rows.append(out, {"kind": "gemm", "status": "ok"})
    before = out.read_bytes()
    probe(out)
    assert out.read_bytes() == before


def test_a_file_of_something_else_is_not_added_to(tmp_path: Path) -> None:
    out = tmp_path / "notes.txt"
    out.write_text("my notes\nof today\n")
    with pytest.raises(rows.BrokenRow, match=r"notes\.txt, line 1 is no result row"):
        run(plan(Gemm()), Machine(), out, quiet=True)
    assert out.read_text() == "my notes\nof today\n"


def test_rows_that_the_disk_takes_no_more_are_printed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = rows.append

    def append(path: Any, row: Any) -> None:
        if row["n"] != 8:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(path, row)

    monkeypatch.setattr(rows, "append", append)
    out = tmp_path / "rows.jsonl"
    found = run(plan(Gemm((8, 9, 10), ("fp32",), 0.001)), Machine(), out, quiet=True)
    printed = capsys.readouterr()
    assert [row["n"] for row in rows.read(out)] == [8]
    assert [json.loads(line)["n"] for line in printed.out.splitlines()] == [9, 10]
    assert printed.err.count("are kept and printed at the end") == 1
    assert len(found) == 3


def test_damaged_data_is_an_error_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "gemm", lambda *_: pytest.fail("measured"))
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / f"{name}-ubyte.gz").write_bytes(b"\x1f\x8b\x08 cut")
    real = Throughput(Task("tiny", "3x3", 28, 8, "fashion-mnist"), ("fp32",))
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz cannot be unpacked"):
        run(plan(Gemm(), real), Machine(), tmp_path / "r.jsonl", folder=tmp_path, quiet=True)


def test_a_batch_larger_than_the_data_is_refused_for_training(tmp_path: Path) -> None:
    big = Training(Task("tiny", "3x3", 12, 64, "synthetic"), ("fp32",), images=32)
    with pytest.raises(ValueError, match="a batch of 64 is more than the 32 images"):
        run(plan(big), Machine(), tmp_path / "r.jsonl", quiet=True)
