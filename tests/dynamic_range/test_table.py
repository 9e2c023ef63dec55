"""Tables of range reports: one row per parameter, sums, text, HTML and pandas."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from ampcourse.dynamic_range import RangeTable, exponent_histogram, model_report, range_report
from ampcourse.dynamic_range.table import histogram_row


def model_with_gradients() -> torch.nn.Module:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Linear(3, 3))
    model[0].bias.requires_grad_(False)
    model[2](model[1](model[0](torch.randn(16, 4)))).square().mean().mul(1e-6).backward()
    return model


def test_every_gradient_has_a_row_and_the_last_row_adds_them_up() -> None:
    model = model_with_gradients()
    table = model_report(model, "fp16", scale=3.0)
    names = ["0.weight", "2.weight", "2.bias"]
    assert [row.report.label for row in table] == [*names, "all"]
    for name in names:
        report = range_report(model.get_parameter(name).grad, "fp16", 3.0, label=name)
        assert table[name].report == report
    everything = torch.cat([model.get_parameter(name).grad.flatten() for name in names])
    assert table["all"].report == range_report(everything, "fp16", 3.0, label="all")
    ends = exponent_histogram(everything).exponents
    assert (table["all"].min_exponent, table["all"].max_exponent) == (ends[0], ends[-1])


def test_parameters_without_a_gradient_are_named_not_counted() -> None:
    assert model_report(model_with_gradients()).without_gradient == (
        "0.bias", "3.weight", "3.bias")  # fmt: skip
    blank = model_report(nn.Linear(2, 2))
    assert len(blank) == 0
    assert blank.without_gradient == ("weight", "bias")
    assert "flushed" in repr(blank)


def test_a_shared_parameter_has_one_row() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    model(torch.ones(1, 3)).sum().backward()
    labels = [row.report.label for row in model_report(model)]
    assert labels == ["0.weight", "0.bias", "1.bias", "all"]


def test_text_and_html_say_the_same() -> None:
    row = histogram_row(exponent_histogram([2.0**-30, 1.0, 0.0, 0.0], "<g>"), "fp16")
    table = RangeTable((row,))
    cells = ("<g>", "4", "50.0 %", "25.0 %", "0 %", "0 %", "0", "-30", "0")
    assert row.cells == cells
    assert repr(table).splitlines()[1].split("  ")[0] == "<g>"
    html = table._repr_html_()
    assert '<th scope="row">&lt;g&gt;</th>' in html
    assert html.count("<td>") == len(cells) - 1


def test_a_share_is_0_percent_only_if_nothing_was_counted() -> None:
    row = histogram_row(exponent_histogram([2.0**-30] + [1.0] * 9999, "g"), "fp16")
    assert row.cells[3] == "< 0.1 %"


def test_zeros_alone_have_no_exponents() -> None:
    row = histogram_row(exponent_histogram([0.0]), "fp16")
    assert (row.min_exponent, row.max_exponent) == (None, None)
    assert row.cells[-1] == ""


def test_an_unknown_row_is_refused_with_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"no row 'x'; the rows are 0.weight"):
        model_report(model_with_gradients())["x"]


def test_pandas_gets_counts_by_label() -> None:
    pytest.importorskip("pandas")
    table = model_report(model_with_gradients())
    frame = table.to_pandas()
    assert frame.loc["all", "total"] == table["all"].report.total
    assert list(frame.index) == [row.report.label for row in table]
