"""What others measured, as tables: published rates beside their limits, and quoted runs."""

from __future__ import annotations

from collections.abc import Sequence

from ampcourse.benchmark.result import Result
from ampcourse.report.published import Pair
from ampcourse.report.table import Table, number


def published_table(pairs: Sequence[Pair]) -> Table:
    """Return published rates and ratios beside the limits of the same device and layouts."""
    head = ("device", "runs", "batch", "images/s", "limit/s", "of limit")
    rows: list[tuple[str, ...]] = []
    for pair in pairs:
        for rate in (pair.baseline, pair.other):
            rows.append(
                (
                    rate.hardware,
                    rate.name,
                    str(rate.batch),
                    number(rate.published),
                    number(rate.limit),
                    f"{rate.share:.0%}",
                )
            )
        layouts = "" if not pair.equal_layouts_matter else f" ({pair.equal_layouts:.2f} both NHWC)"
        rows.append(("", "ratio", "", f"{pair.published:.2f}", f"{pair.limit:.2f}{layouts}", ""))
    remarks = [remark for pair in pairs for remark in pair.remarks]
    sources = "; ".join(dict.fromkeys(pair.source for pair in pairs))
    title = "Published: ResNet50 on ImageNet, 224 px, against the model"
    return Table(title, head, tuple(rows), (*remarks, f"Published by: {sources}."), words=2)


def other_table(results: Sequence[Result]) -> Table:
    """Return published and quoted comparisons that no limit can be computed for."""
    head = ("device", "task", "kind", "baseline", "mixed", "ratio")
    rows = tuple(
        (
            result.name,
            result.task,
            result.kind,
            f"{result.baseline_name} {result.baseline.value:g} {result.unit}",
            f"{result.amp.precision.upper()} {result.amp.value:g} {result.unit}",
            f"{result.speedup:.2f}",
        )
        for result in results
    )
    return Table(
        "Others, without a limit: image size or layout was not published",
        head,
        rows,
        ("?: not reported, our inference.",),
        words=5,
    )
