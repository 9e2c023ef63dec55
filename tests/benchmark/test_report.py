"""The table shows what is known and says where it is not."""

from __future__ import annotations

from dataclasses import replace

from ampcourse.benchmark import Measurement, Result, records
from ampcourse.benchmark.report import sentence, sources, table

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


def test_memory_and_speed_come_first_so_that_a_narrow_page_shows_them() -> None:
    frame = table([KNOWN])
    assert list(frame.columns[:3]) == ["memory", "speed", "kind"]
    assert frame.index.name is None  # a name would be a row of its own
    assert frame.loc["a GPU", "kind"] == "published"


def test_no_table_has_an_empty_header_cell() -> None:
    assert "<th></th>" not in table([KNOWN])._repr_html_()
    head = str(sources([KNOWN])).splitlines()[0]
    assert all(cell.strip() for cell in head.split("|")[1:-1])


def test_no_two_rows_of_the_shipped_records_have_the_same_name() -> None:
    names = list(table(records()).index)
    assert len(set(names)) == len(names)
    assert {"RTX 4090", "RTX 4090, apex"} <= set(names)


def test_inferred_baseline_has_a_question_mark_in_the_table_and_words_in_the_sentence() -> None:
    inferred = replace(KNOWN, baseline_inferred=True)
    assert table([inferred]).iloc[0]["baseline"] == "TF32? 3 min"
    assert sentence(inferred).endswith("(published; that the baseline was TF32 is our inference)")


def test_sentence_names_factor_baseline_and_kind() -> None:
    words = "a GPU, a task: FP16 1.50 times as fast as TF32 (published)"
    assert sentence(KNOWN) == words


def test_sentence_says_why_a_result_is_in_doubt() -> None:
    assert sentence(replace(KNOWN, doubt="too few steps")).endswith("(published; too few steps)")


def test_sources_links_every_address_breakable_and_keeps_one_line_per_record() -> None:
    known = replace(
        KNOWN,
        source="somebody, https://host/a_b/c/d.md, read",
        note="1|2\nruns (https://host/a).",
    )
    text = str(sources([known]))
    link = "[host/\u200ba_b/\u200bc](https://host/a_b/c/d.md)"
    remark = "1\\|2 runs ([host/\u200ba](https://host/a)). |"
    row = f"| a GPU | published | somebody, {link}, read | {remark}"
    assert text.splitlines()[-1] == row
    assert sources([known])._repr_markdown_() == text
    assert len(str(sources(records())).splitlines()) == 2 + len(records())
