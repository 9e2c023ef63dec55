"""Every figure under "What was measured" is in a record of this repository, or is a test's."""

import json
import re
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest

pytest.importorskip("torch", reason="needs the lab extra")

from ampcourse.benchmark.equivalence import equivalence
from ampcourse.benchmark.records import FOLDER, records
from ampcourse.benchmark.result import Result
from ampcourse.benchmark.rows import read
from ampcourse.low_precision.curves import RECORD

ROOT = Path(__file__).parents[1]
SECTION = re.split(r"^(?=## )", (ROOT / "README.md").read_text("utf-8"), flags=re.M)
MEASURED = next(part for part in SECTION if part.startswith("## What was measured"))
#: Recipes in the table, by their names in the record.
RECIPES = {
    "fp32": "FP32",
    "bf16": "BF16",
    "fp8": "FP8, a scale per tensor",
    "e4m3_unscaled": "FP8 E4M3, no scale",
    "mxfp8": "MXFP8",
    "mxfp4": "MXFP4",
    "nvfp4": "NVFP4",
    "fp4": "FP4, a scale per tensor",
}
LAST = 50  # losses averaged


def speed_row(result: Result) -> str:
    """Return the table's row of a record; a question mark for a baseline that was inferred."""
    unsure = "?" if result.baseline_inferred else ""
    arms = [
        f"{arm.precision.upper()}{mark} {arm.value:,g} {result.unit}"
        for arm, mark in ((result.baseline, unsure), (result.amp, ""))
    ]
    change = result.memory_change
    memory = "" if change is None else f"{change:+.0%}".replace("-", "−").replace("%", " %")
    name = result.name.replace("AMD EPYC 7003 (Zen 3), 1 core", "AMD EPYC (Zen 3), 1 core")
    cells = (name, result.task, *arms, f"{result.speedup:.2f}", memory, result.kind)
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def curve_row(name: str) -> str:
    """Return the table's row of a recipe: mean loss at the end and mean test accuracy."""
    runs = json.loads(RECORD.read_text("utf-8"))["curves"][name]
    loss = mean(mean(run["losses"][-LAST:]) for run in runs)
    accuracy = mean(run["test_accuracy"] for run in runs)
    return f"| {RECIPES[name]} | {loss:.3f} | {accuracy:.1%} |".replace("%", " %")


def test_the_speed_table_is_the_shipped_records() -> None:
    rows = re.findall(r"^\| .* \| (?:published|quoted|measured) \|$", MEASURED, re.M)
    assert rows == [speed_row(result) for result in records()]


def test_the_narrow_formats_table_is_the_record_of_lesson_12() -> None:
    rows = [line for line in MEASURED.splitlines() if re.match(r"\| (FP|BF|MX|NV)\S+.*%", line)]
    assert rows == [curve_row(name) for name in RECIPES]
    record = json.loads(RECORD.read_text("utf-8"))
    assert {len(record["curves"][name]) for name in RECIPES} == {3}
    for fact in (record["hardware"], f"{record['steps']} steps", "three seeds", "torch 2.14.1"):
        assert fact in MEASURED
    assert record["versions"]["torch"].startswith("2.14.1")


def test_the_three_seeds_are_those_of_the_rows() -> None:
    rows = read(FOLDER / "rows" / "three_seeds_resnet18.jsonl")
    found = equivalence(rows, "amp-bf16")
    fp32, bf16 = (mean(pair[place] for pair in found.accuracies.values()) for place in (0, 1))
    low, high = (f"{100 * bound:+.2f}".replace("-", "−") for bound in found.interval)
    text = " ".join(MEASURED.split())
    assert f"{fp32:.2%} in FP32, {bf16:.2%} under BF16".replace("%", " %") in text
    assert f"between {low} and {high} points" in text
    assert found.holds
    machine = rows[0]["machine"]
    assert machine["name"] in text
    assert machine["torch"].startswith("2.14.1")
    assert machine["threads"] == 1


def test_the_claims_are_counted_as_the_claims_test_expects_them() -> None:
    from tests.claims.test_claims import test_verdict_of_each_claim as tested

    count = Counter(verdict for _, verdict in vars(tested)["pytestmark"][0].args[1])
    text = (
        f"Of the {count.total()} claims of those articles, {count['wrong']} are wrong, "
        f"{count['right in part']} right in part, {count['depends']} hold for some machines only "
        f"and {count['not checkable']} cannot be checked"
    )
    assert text in " ".join(MEASURED.split())


def test_every_file_named_as_a_source_is_there() -> None:
    named = re.findall(r"`((?:ampcourse|tests)/[\w/.*]+)`", MEASURED)
    assert named
    assert [name for name in named if not list(ROOT.glob(name))] == []
