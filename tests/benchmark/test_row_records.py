"""Rows that come with the course are whole, name their hardware, and hold what is claimed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from ampcourse.benchmark.equivalence import equivalence
from ampcourse.benchmark.records import FOLDER
from ampcourse.benchmark.rows import read

FILES = sorted(FOLDER.rglob("*.jsonl"))
SEEDS = [path for path in FILES if path.name.startswith("three_seeds")]


def names(path: Path) -> str:
    return path.name


def rows_of(path: Path) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a broken last line is one
        return read(path)


@pytest.mark.parametrize("path", FILES, ids=names)
def test_each_row_is_whole_and_names_hardware_versions_and_data(path: Path) -> None:
    rows = rows_of(path)
    assert rows
    for row in rows:
        machine = row["machine"]
        assert all(machine[name] for name in ("name", "kind", "torch", "date"))
        assert row["data"]["source"] or row["kind"] == "gemm"


@pytest.mark.parametrize("path", SEEDS, ids=names)
def test_three_seeds_are_pairs_on_real_data_in_which_fp32_passes_75_percent(path: Path) -> None:
    rows = rows_of(path)
    assert {row["status"] for row in rows} == {"ok"}
    assert all(row["data"]["name"] == "fashion-mnist" for row in rows)
    found = equivalence(rows, "amp-bf16")
    assert sorted(found.accuracies) == [0, 1, 2]
    assert len(rows) == 6
    assert all(fp32 > 0.75 for fp32, _ in found.accuracies.values())
