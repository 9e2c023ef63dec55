"""Rows reach the file whole, stay there, and a file that broke off is still read."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ampcourse.benchmark import rows

ROW = {"kind": "throughput", "status": "ok", "images_per_s": 12.5}


def test_rows_come_back_in_order_and_earlier_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    written = [{**ROW, "seed": seed} for seed in range(3)]
    before = b""
    for row in written:
        rows.append(path, row)
        assert path.read_bytes().startswith(before)
        before = path.read_bytes()
    assert rows.read(path) == written


def test_each_row_is_one_line_of_plain_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows.append(path, {**ROW, "message": "two\nlines, 3 × 3"})
    [line] = path.read_text("utf-8").splitlines()
    assert json.loads(line)["message"] == "two\nlines, 3 × 3"


def test_nan_and_infinity_become_null_at_any_depth(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows.append(path, {**ROW, "loss": math.nan, "epochs": [{"loss": math.inf}], "x": (1.5,)})
    assert rows.read(path) == [{**ROW, "loss": None, "epochs": [{"loss": None}], "x": [1.5]}]


@pytest.mark.parametrize("bad", [{}, {"kind": "throughput"}, {"kind": "x", "status": "ok"}])
def test_what_is_no_row_is_not_written(bad: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is unknown; choose from"):
        rows.append(tmp_path / "rows.jsonl", bad)
    assert not (tmp_path / "rows.jsonl").exists()


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_last_line_that_breaks_off_is_reported_and_left_out(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows.append(path, ROW)
    rows.append(path, {**ROW, "message": "a text that may be cut within a letter: é"})
    path.write_bytes(path.read_bytes()[:-cut])
    if cut == 1:  # only the newline is gone: the row is whole
        assert len(rows.read(path)) == 2
        return
    with pytest.warns(UserWarning, match=r"rows\.jsonl, line 2 breaks off"):
        assert rows.read(path) == [ROW]


@pytest.mark.parametrize("cut", [2, 20, 60])
def test_a_row_added_after_a_line_that_broke_off_is_read(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows.append(path, {**ROW, "message": "a text that is long enough to be cut somewhere"})
    path.write_bytes(path.read_bytes()[:-cut])
    rows.append(path, ROW)
    with pytest.warns(UserWarning, match="line 1 breaks off"):
        assert rows.read(path) == [ROW]


@pytest.mark.parametrize("line", ["results of today", '{"kind": "cake"}', "[1, 2]", '{"a" 1}'])
def test_another_line_that_is_no_row_is_an_error_with_file_and_line(
    line: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    rows.append(path, ROW)
    path.write_text(path.read_text("utf-8") + line + "\n" + json.dumps(ROW) + "\n")
    with pytest.raises(rows.BrokenRow, match=r"rows\.jsonl, line 2 is no result row"):
        rows.read(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, as Linux has it")
def test_a_full_disk_is_an_error_of_the_row_that_did_not_fit() -> None:
    with pytest.raises(OSError, match="No space left"):
        rows.append("/dev/full", ROW)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_rows_of_a_killed_process_are_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    code = (
        "import sys, time\nfrom ampcourse.benchmark import rows\n"
        f"rows.append({str(path)!r}, {ROW!r})\nprint('written', flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "written"
        other.send_signal(signal.SIGKILL)
    assert rows.read(path) == [ROW]
