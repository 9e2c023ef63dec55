"""Tables say what is known, mark what is host-bound, and name data, hardware and flags."""

from __future__ import annotations

from ampcourse.report.comparison import rates, trainings
from ampcourse.report.measured import (
    about,
    gemm_table,
    problem_lines,
    rate_table,
    training_table,
)
from ampcourse.report.table import Table
from tests.report.made_rows import MACHINE, largest, rate, training


def cells(table: Table, recipe: str) -> dict[str, str]:
    [row] = [row for row in table.rows if row[0] == recipe]
    return dict(zip(table.head, row, strict=True))


def test_a_rate_has_ratio_interval_limit_and_largest_batch() -> None:
    rows = [rate("fp32", 1000), rate("amp-bf16", 2000), largest("fp32", 50)]
    [group] = rates([*rows, largest("amp-bf16", 90)])
    assert cells(rate_table(group), "amp-bf16") == {
        "recipe": "amp-bf16",
        "images/s": "2,000",
        "ratio": "2.00",
        "95 %": "1.98-2.02",
        "limit/s": "10,000",
        "of limit": "20%",
        "ratio of limits": "1.00",
        "peak MB": "12",
        "largest batch": "90 (1.80x)",
    }
    assert cells(rate_table(group), "fp32")["ratio"] == "1"
    assert "Two gains, not one" in rate_table(group).remarks[-1]


def test_a_host_bound_ratio_is_marked_and_not_called_a_speed_up() -> None:
    [group] = rates([rate("fp32", 1000, host_bound=True), rate("amp-bf16", 1100)])
    table = rate_table(group)
    assert cells(table, "amp-bf16")["ratio"] == "1.10*"
    assert any(r.startswith("* host-bound") and "no speed-up" in r for r in table.remarks)
    [group] = rates([rate("fp32", 1000), rate("amp-bf16", 1100)])
    assert "*" not in rate_table(group).text()


def test_what_is_unknown_is_a_question_mark() -> None:
    unknown = {"roofline_images_per_s": None, "peak_allocated": None}
    row = rate("fp32", 10.0, machine=MACHINE | {"name": "a GPU"}, **unknown)
    found = cells(rate_table(rates([row])[0]), "fp32")
    assert [found[name] for name in ("limit/s", "of limit", "peak MB", "largest batch")] == 4 * [
        "?"
    ]


def test_a_rate_above_its_limit_is_explained() -> None:
    [group] = rates([rate("fp32", 11_000)])
    assert any("fp32 is 10% above its limit" in remark for remark in rate_table(group).remarks)


def test_hardware_data_driver_and_clocks_are_named() -> None:
    words = about(rate("fp32", 1.0))
    for part in ("torch 2.14.1", "synthetic noise", "CUDA 13.0", "driver 580.1", "SM 1980 MHz"):
        assert part in words
    cpu = about(rate("fp32", 1, machine={"kind": "cpu", "threads": 2, "cpu_capability": "AVX512"}))
    assert "2 threads, AVX512" in cpu
    clocks = {"clocks_before": {"mhz": 2100.0, "load_1_min": 0.5}, "clocks_after": {"mhz": None}}
    told = about(rate("fp32", 1, machine={"kind": "cpu", **clocks}))
    assert "clocks before (2100 MHz, load 0.5)" in told
    assert "mhz" not in told


def test_trainings_show_scores_times_and_small_gradients() -> None:
    rows = [training(r, s, a) for s in (0, 1) for r, a in (("fp32", 0.8), ("amp-bf16", 0.81))]
    table = training_table(trainings(rows)[0])
    found = cells(table, "amp-bf16")
    assert (found["seeds"], found["accuracy"], found["F1"]) == ("2", "81.00%", "81.00%")
    assert (found["wall s"], found["time ratio"], found["skipped"]) == ("4.0", "2.00", "1")
    assert "amp-bf16, share of weight gradients below 2^-24 and not 0: step 1: 25 %." in (
        table.remarks
    )
    assert any("equivalent within ±2 points" in remark for remark in table.remarks)


def test_one_seed_is_no_statement_about_equal_accuracy() -> None:
    [group] = trainings([training("fp32", 0, 0.8), training("amp-bf16", 0, 0.8)])
    remarks = training_table(group).remarks
    assert any("amp-bf16: no two seeds shared with fp32" in remark for remark in remarks)
    assert not any("equivalent within" in remark for remark in remarks)


def test_matrix_products_stand_beside_the_peak() -> None:
    row = {"machine": MACHINE, "m": 8, "n": 16, "k": 32, "type": "fp16", "tflops": 700.0}
    table = gemm_table([row | {"peak_tflops": 989.0, "share_of_peak": 0.708}])
    assert table.rows == (("8 x 16 x 32", "fp16", "700", "989", "71%"),)


def test_a_problem_is_one_line_with_its_reason() -> None:
    row = rate("O3", 1.0, status="out_of_memory", message="batch 64 needs more")
    assert problem_lines([row]) == ["throughput O3: out of memory, batch 64 needs more"]
