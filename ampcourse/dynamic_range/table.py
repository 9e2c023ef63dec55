"""One range report per layer or parameter, as a small table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from ampcourse.dynamic_range.histogram import ExponentHistogram, exponent_histogram
from ampcourse.dynamic_range.report import RangeReport, range_report
from ampcourse.formats import FloatFormat

if TYPE_CHECKING:
    import pandas
    import torch

#: Heading and text of each column; a header is all that is shown in words.
COLUMNS = (
    "name", "values", "zeros", "flushed", "subnormal", "overflow", "inf or nan",
    "min exponent", "max exponent",
)  # fmt: skip


@dataclass(frozen=True)
class RangeRow:
    """A report with the exponents of the smallest and the largest value, before scaling."""

    report: RangeReport
    min_exponent: int | None
    max_exponent: int | None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text, one cell per column."""
        r = self.report
        shares = [_percent(count, r.total) for count in (r.zeros, r.flushed, r.subnormal)]
        ends = ["" if e is None else str(e) for e in (self.min_exponent, self.max_exponent)]
        large = _percent(r.overflow, r.total)
        return (r.label, str(r.total), *shares, large, str(r.infs + r.nans), *ends)


@dataclass(frozen=True)
class RangeTable:
    """Reports for several tensors under one format and scale; prints as a table."""

    rows: tuple[RangeRow, ...]
    #: Parameters that had no gradient to report on.
    without_gradient: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RangeRow]:
        return iter(self.rows)

    def __getitem__(self, label: str) -> RangeRow:
        for row in self.rows:
            if row.report.label == label:
                return row
        names = ", ".join(row.report.label for row in self.rows)
        raise KeyError(f"no row {label!r}; the rows are {names}")

    def __repr__(self) -> str:
        lines = [COLUMNS, *(row.cells for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join(text)

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in COLUMNS)
        body = "".join(_html_row(row.cells) for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def as_plain(self) -> list[dict[str, Any]]:
        """Return one dict of counts and exponents per row."""
        return [
            row.report.as_plain()
            | {"min_exponent": row.min_exponent, "max_exponent": row.max_exponent}
            for row in self.rows
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a DataFrame, labels as its index; needs pandas."""
        import pandas

        return pandas.DataFrame(self.as_plain()).set_index("label")


def histogram_row(
    histogram: ExponentHistogram, fmt: str | FloatFormat, scale: float = 1.0
) -> RangeRow:
    """Return a row for a histogram; exact as far as RangeReport says."""
    return RangeRow(range_report(histogram, fmt, scale), *_ends(histogram))


def model_report(
    model: torch.nn.Module, fmt: str | FloatFormat = "fp16", scale: float = 1.0
) -> RangeTable:
    """Report on the gradients that a model holds after a backward pass, one row per parameter.

    Counts every value exactly, as range_report does; the last row, "all", adds them up. A
    parameter that is frozen or was not used is named in ``without_gradient``. A parameter
    shared by several modules has one row. Gradients are taken as they are: after
    ``scaler.scale(loss).backward()`` they still carry the loss scale.
    """
    rows: list[RangeRow] = []
    missing: list[str] = []
    for name, parameter in model.named_parameters():
        if parameter.grad is None:
            missing.append(name)
            continue
        report = range_report(parameter.grad, fmt, scale, label=name)
        rows.append(RangeRow(report, *_ends(exponent_histogram(parameter.grad))))
    if rows:
        rows.append(_all(rows))
    return RangeTable(tuple(rows), tuple(missing))


def _ends(histogram: ExponentHistogram) -> tuple[int | None, int | None]:
    exponents = histogram.exponents
    return (exponents[0], exponents[-1]) if exponents else (None, None)


def _all(rows: list[RangeRow]) -> RangeRow:
    total = replace(rows[0].report, label="all")
    for row in rows[1:]:
        total = replace(total + row.report, label="all")
    low = [row.min_exponent for row in rows if row.min_exponent is not None]
    high = [row.max_exponent for row in rows if row.max_exponent is not None]
    return RangeRow(total, min(low, default=None), max(high, default=None))


def _percent(count: int, total: int) -> str:
    """Return a share as text that is 0 % only if nothing was counted."""
    if not count or not total:
        return "0 %"
    share = 100 * count / total
    return f"{share:.1f} %" if share >= 0.05 else "< 0.1 %"


def _html_row(cells: tuple[str, ...]) -> str:
    name, *rest = (escape(cell) for cell in cells)
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
