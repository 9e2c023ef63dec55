"""The shipped records say what FACTS and their sources say, and where each is from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ampcourse.benchmark import records
from ampcourse.benchmark.records import FOLDER, load, save


def record(name: str) -> Any:
    return load(FOLDER / f"{name}.json")


@pytest.mark.parametrize(
    ("name", "factor", "memory", "precision"),
    [  # as printed by the sources, to the digits they print
        ("v100_resnet50", "3.27", None, "fp32"),
        ("a100_resnet50", "2.63", None, "tf32"),
        ("seed_resnet50", "2.36", None, "fp32"),
        ("rtx2080ti_resnet18", "1.46", "-0.28", "fp32"),
        ("rtx3090_resnet50", "1.38", None, "tf32"),
        ("rtx4090_resnet50", "1.31", "-0.32", "tf32"),
        ("rtx4090_resnet50_apex", "1.35", "-0.42", "tf32"),
        ("gtx1080ti_resnet18", "1.00", "-0.38", "fp32"),
    ],
)
def test_record_holds_the_published_numbers(
    name: str, factor: float, memory: Any, precision: Any
) -> None:
    result = record(name)
    assert f"{result.speedup:.2f}" == factor
    change = result.memory_change
    assert (change if change is None else f"{change:.2f}") == memory
    assert result.baseline.precision == precision


def test_exactly_the_baselines_nobody_reported_are_marked_as_inferred_and_say_why() -> None:
    inferred = [result for result in records() if result.baseline_inferred]
    names = ["RTX 4090", "RTX 4090, apex", "RTX 3090", "GPU not recorded"]
    assert sorted(result.name for result in inferred) == sorted(names)
    assert all("our inference" in result.note for result in inferred)


def test_nvidia_records_say_that_more_than_precision_changed() -> None:
    v100, a100 = record("v100_resnet50"), record("a100_resnet50")
    batches = [(r.flags["baseline_batch"], r.flags["batch"]) for r in (v100, a100)]
    assert batches == [(112, 256), (256, 256)]
    assert {r.flags["memory_format"] for r in (v100, a100)} == {"nhwc"}
    assert "3.26" in v100.note


def test_a_cpu_record_names_a_generation_and_the_cores_used() -> None:
    assert record("cpu_epyc_small_cnn").hardware == "AMD EPYC 7003 (Zen 3), 1 core"


def test_records_come_fastest_first_and_can_be_chosen_by_kind() -> None:
    factors = [result.speedup for result in records()]
    assert factors == sorted(factors, reverse=True)
    assert {result.kind for result in records("quoted")} == {"quoted"}
    with pytest.raises(ValueError, match="'rumour' is unknown"):
        records("rumour")


def test_measured_records_name_command_machine_versions_and_flags() -> None:
    measured = records("measured")
    assert measured
    for result in measured:
        assert result.source.startswith("python -m ampcourse.benchmark")
        assert {"python", "torch"} <= set(result.versions)
        assert {"batch", "width", "steps", "trainings"} <= set(result.flags)


def test_published_records_name_an_address_and_quoted_ones_do_not_pretend_to() -> None:
    assert all("https://" in result.source for result in records("published"))
    assert not any("https://" in result.source for result in records("quoted"))


def test_files_are_written_as_save_writes_them(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.json"):
        save(load(path), tmp_path / path.name)
        assert (tmp_path / path.name).read_text("utf-8") == path.read_text("utf-8")


@pytest.mark.parametrize("text", ["", "[]", '{"task": "x"}', '{"baseline": {}, "amp": {}}'])
def test_broken_record_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"broken\.json"):
        load(path)


def test_reading_records_loads_neither_torch_nor_numpy_nor_matplotlib() -> None:
    code = (
        "import sys, ampcourse.benchmark as b; b.records()\n"
        "print({'torch', 'numpy', 'matplotlib', 'pandas'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
