"""A row in one line of words, for whoever watches a run."""

from __future__ import annotations

from ampcourse.benchmark.rows import Row


def line(row: Row) -> str:
    """Return what a row found, in one line."""
    name = row.get("recipe") or row["kind"]
    if row["kind"] == "gemm" and "n" in row:
        name = f"{row['type']} {row['n']}"
    if row["status"] != "ok" and not row.get("images_per_s"):
        return f"  {name:28} {row['status'].replace('_', ' ')}: {row['message']}"
    found = _FIGURES[row["kind"]](row) if row["kind"] in _FIGURES else row["message"]
    note = f" ({row['message']})" if row["message"] else ""
    return f"  {name:28} {found}{note}"


def _throughput(row: Row) -> str:
    interval = row["ratio_interval"]
    between = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    words = [f"{row['images_per_s']:10,.0f} images/s"]
    if row["recipe"] != row["baseline"]:
        words.append(f"{row['ratio']:.2f} x {row['baseline']}{between}")
    limit = row["roofline_images_per_s"]
    if limit:
        words.append(f"limit {limit:,.0f}")
    if row["host_bound"]:
        words.append("HOST-BOUND: not a gain or loss of its arithmetic")
    return ", ".join(words)


def _training(row: Row) -> str:
    accuracy = row["final"].get("test_accuracy", row["final"].get("accuracy"))
    shown = "no accuracy" if accuracy is None else f"accuracy {accuracy:.4f}"
    epochs = len(row["epochs"])
    return f"{epochs} epochs in {row['wall_s']:.1f} s, {shown}, seed {row['seed']}"


def _largest(row: Row) -> str:
    return f"largest batch {row['batch']:,} ({row.get('method', '')})"


def _gemm(row: Row) -> str:
    share = row["share_of_peak"]
    peak = "" if share is None else f", {share:.0%} of the peak"
    return f"{row['tflops']:10.2f} TFLOP/s{peak}"


_FIGURES = {
    "throughput": _throughput,
    "training": _training,
    "largest_batch": _largest,
    "gemm": _gemm,
}
