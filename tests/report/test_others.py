"""Published and quoted runs say what they are."""

from __future__ import annotations

from ampcourse.benchmark.recipes import Recipe
from ampcourse.benchmark.records import records
from ampcourse.report.others import other_table, published_table
from ampcourse.report.published import Pair, Rate


def test_quoted_runs_say_that_they_are() -> None:
    table = other_table(records("quoted"))
    assert {row[2] for row in table.rows} == {"quoted"}
    assert any(row[3:] == ("FP32? 333 s", "FP16 141 s", "2.36") for row in table.rows)


def test_a_published_pair_is_three_lines_and_its_remarks_and_source_stand_below() -> None:
    base = Rate("a GPU", Recipe("tf32", "NCHW"), 256, 900.0, 1200.0)
    other = Rate("a GPU", Recipe("amp-fp16", "NHWC"), 128, 2400.0, 3600.0)
    table = published_table([Pair(base, other, 2.0, "a test")])
    assert table.rows == (
        ("a GPU", "tf32 NCHW", "256", "900", "1,200", "75%"),
        ("a GPU", "amp-fp16 NHWC", "128", "2,400", "3,600", "67%"),
        ("", "ratio", "", "2.67", "3.00 (2.00 both NHWC)", ""),
    )
    assert table.remarks[0].startswith("a GPU: the ratio 2.67 is above 2.00, the limit if both")
    assert table.remarks[1:] == ("Published by: a test.",)
