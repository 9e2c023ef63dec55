"""The same command under torchrun: one report, one file of rows, the global batch kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from ampcourse.benchmark.rows import read
from ampcourse.distributed import LaunchError, launch

COMMAND = [
    *("-m", "ampcourse", "benchmark", "--device", "cpu", "--preset", "rehearsal"),
    *("--only", "throughput", "training", "--recipes", "fp32", "amp-fp16+nhwc"),
    *("--rounds", "2", "--epochs", "1", "--threads", "1"),
]


def test_two_processes_share_each_batch_and_the_first_reports(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    first, second = launch([*COMMAND, "--out", str(out)], 2, timeout=280)
    assert f"rows go to {out}" in first
    assert second == ""
    rows = read(out)
    assert [(row["kind"], row["recipe"]) for row in rows] == [
        ("throughput", "fp32"),
        ("throughput", "amp-fp16+nhwc"),
        ("training", "fp32"),
        ("training", "amp-fp16+nhwc"),
        ("throughput", "fp32"),
        ("throughput", "amp-fp16+nhwc"),
    ]
    assert {(row["status"], row["world_size"], row["batch"]) for row in rows} == {("ok", 2, 16)}
    # 64 images in global batches of 16: as many steps as one process takes.
    assert {row["steps"] for row in rows if row["kind"] == "training"} == {4}
    assert "tiny, 3x3 stem, 12 px, batch 16, 2 processes" in first


def test_a_batch_that_cannot_be_shared_ends_all_with_one_readable_error(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    with pytest.raises(LaunchError) as caught:
        launch([*COMMAND, "--batch", "15", "--out", str(out)], 2, timeout=280)
    message = str(caught.value)
    assert "a global batch of 15 cannot be cut into 2 equal parts" in message
    assert "choose 14 or 16" in message
    assert "Traceback" not in message
    assert not out.exists() or read(out) == []
