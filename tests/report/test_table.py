"""A table is the same as text and as Markdown, aligned, with addresses whole."""

from __future__ import annotations

from ampcourse.report.table import Table, number


def test_text_is_aligned_and_no_longer_than_its_rule() -> None:
    table = Table("title", ("a", "number"), (("long name", "1"), ("b", "22")), ("a remark",), 1)
    assert table.text().splitlines() == [
        "title",
        "-" * 17,
        "a          number",
        "-" * 17,
        "long name       1",
        "b              22",
        "-" * 17,
        "a remark",
    ]


def test_addresses_in_remarks_are_not_broken() -> None:
    address = "https://example.org/" + "long-name/" * 12
    assert address in Table("t", ("a",), (("b",),), (f"Published by: somebody, {address}.",)).text()


def test_markdown_is_a_table_with_numbers_on_the_right() -> None:
    table = Table("title", ("a", "b", "c"), (("x", "y", "1"),), ("a remark",), words=2)
    assert table.markdown() == (
        "### title\n\n| a | b | c |\n| --- | --- | ---: |\n| x | y | 1 |\n\na remark"
    )


def test_numbers_are_whole_from_100_on_and_unknown_ones_are_question_marks() -> None:
    assert [number(value) for value in (1234.5, 99.94, 0.01234)] == ["1,234", "99.9", "0.0123"]
    assert number(None) == "?"
    assert number(0.256, ".0%") == "26%"
