"""`ampcourse report`: files of result rows, compared with others and with the limits."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from ampcourse.benchmark.equivalence import MARGIN
from ampcourse.benchmark.records import records
from ampcourse.benchmark.rows import Row, read
from ampcourse.report.comparison import problems, rates, trainings
from ampcourse.report.measured import gemm_table, problem_lines, rate_table, training_table
from ampcourse.report.others import other_table, published_table
from ampcourse.report.published import pairs
from ampcourse.report.table import Table


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report; return 0, or 2 for a file that cannot be read or written."""
    options = _parser().parse_args(argv)
    try:
        rows = _rows(options.files)
        tables = _tables(rows, options.margin / 100, options.published)
        print("\n\n".join(t.markdown() if options.markdown else t.text() for t in tables))
        lines = problem_lines(problems(rows))
        if lines:
            print("\nDid not end well:", *lines, sep="\n- ")
        if options.figure:
            _save_figure(rows, options.figure)
    except (ValueError, OSError) as error:
        print(f"ampcourse report: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ampcourse report", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="rows of ampcourse benchmark"
    )
    parser.add_argument("--markdown", action="store_true", help="tables as Markdown")
    parser.add_argument("--figure", type=Path, metavar="PATH", help="draw rates as svg, png, pdf")
    parser.add_argument(
        "--margin",
        type=float,
        default=100 * MARGIN,
        metavar="POINTS",
        help="accuracies within so many percentage points are equivalent (%(default)g)",
    )
    parser.add_argument(
        "--no-published",
        dest="published",
        action="store_false",
        help="leave out the published runs, whose limits take some seconds to compute",
    )
    return parser


def _rows(files: Sequence[Path]) -> list[Row]:
    found = []
    for path in files:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found += read(path)
        for warning in caught:
            print(f"ampcourse report: {warning.message}", file=sys.stderr)
    return found


def _tables(rows: Sequence[Row], margin: float, published: bool) -> list[Table]:
    try:
        tables = [rate_table(group) for group in rates(rows)]
        tables += [training_table(group) for group in trainings(rows, margin)]
        products = [row for row in rows if row["kind"] == "gemm" and row["status"] == "ok"]
        tables += [gemm_table(products)] if products else []
    except KeyError as error:
        raise ValueError(
            f"a row has no {error}: was it written by another version of ampcourse benchmark?"
        ) from error
    if published:
        known = pairs()
        limited = {rate.hardware for pair in known for rate in (pair.baseline, pair.other)}
        others = [
            result
            for result in (*records("published"), *records("quoted"))
            if not (result.unit == "images/s" and result.hardware in limited)
        ]
        tables += [published_table(known), other_table(others)]
    return tables


def _save_figure(rows: Sequence[Row], path: Path) -> None:
    from matplotlib.figure import Figure

    from ampcourse.plotting.benchmark_rows import RateBar, benchmark_rows

    bars = [
        RateBar(entry.recipe, group.title, entry.rate, entry.limit, entry.host_bound)
        for group in rates(rows)
        for entry in group.entries
    ]
    if not bars:
        print(f"no {path}: there is no row of throughput to draw", file=sys.stderr)
        return
    figure = benchmark_rows(bars).figure
    assert isinstance(figure, Figure)
    figure.savefig(path)
