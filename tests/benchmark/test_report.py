"""The table shows what is known and says where it is not."""

from __future__ import annotations

from ampcourse.benchmark import Measurement, Result
from ampcourse.benchmark.report import sentence, table

KNOWN = Result(
    task="a task",
    hardware="a GPU",
    kind="published",
    unit="min",
    baseline=Measurement("tf32", 3.0, 1000, 0.9),
    amp=Measurement("fp16", 2.0, 620, 0.89),
    date="today",
    source="a test",
)
UNKNOWN = Result.from_json(
    KNOWN.to_json()
    | {"baseline": {"precision": "fp32", "value": 1}, "amp": {"precision": "bf16", "value": 4}}
)


def test_row_gives_factor_memory_and_accuracy() -> None:
    row = table([KNOWN]).loc["a GPU"]
    assert row["baseline"] == "TF32 3 min"
    assert row["speed"] == "1.50×"
    assert row["memory"] == "\N{MINUS SIGN}38%"
    assert row["accuracy"] == "90.0% → 89.0%"


def test_what_was_not_reported_is_a_question_mark_not_a_zero() -> None:
    row = table([UNKNOWN]).iloc[0]
    assert row["memory"] == "?"
    assert row["accuracy"] == "? → ?"


def test_sentence_names_factor_baseline_and_kind() -> None:
    words = "a GPU, a task: FP16 1.50 times as fast as TF32 (published)"
    assert sentence(KNOWN) == words
