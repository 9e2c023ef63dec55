"""The command, as a user starts it: options, errors, torchrun, a machine without Jupyter."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ampcourse.benchmark import command, rows
from ampcourse.benchmark.command import main, new_file, parser, plan_of
from ampcourse.benchmark.machine import Machine
from ampcourse.distributed import launch
from tests.benchmark.fake_cuda import FakeCuda, fake_machine

ROOT = Path(__file__).parents[2]
TINY = ["--device", "cpu", "--preset", "rehearsal"]
QUICK = [*TINY, "--only", "throughput", "--recipes", "fp32", "--rounds", "3"]


@pytest.fixture(autouse=True)
def _starts_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan's time runs from the program's start, which for these tests may be long ago."""
    monkeypatch.setattr(command, "_STARTED", time.perf_counter())


def test_a_run_writes_its_rows_prints_a_line_for_each_and_hands_the_file_to_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.jsonl"
    reported: list[Path] = []
    assert main([*QUICK, "--out", str(out)], reported.append) == 0
    printed = capsys.readouterr().out
    assert len(rows.read(out)) == 2
    assert len(re.findall(r"fp32 .*images/s", printed)) == 2
    assert "2 rows, 0 of them failed" in printed
    assert reported == [out]


def test_no_cuda_with_device_cuda_is_misuse_that_says_what_to_try(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert main(["--device", "cuda", "--preset", "rehearsal"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("ampcourse benchmark: --device cuda: ")
    assert "--device cpu" in error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--preset", "h300"], "preset 'h300' is unknown; did you mean 'h200'"),
        ([*TINY, "--recipes", "fp17"], "recipe 'fp17'"),
        ([*TINY, "--minutes", "0"], "leaves no time"),
        ([*TINY, "--only", "gemm", "--epochs", "3"], "has epochs"),
        ([*TINY, "--data", "cifar10", "--data-folder", "nowhere"], "CIFAR10 is not in nowhere"),
    ],
)
def test_misuse_ends_with_status_2_and_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*arguments, "--out", str(tmp_path / "r.jsonl"), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error


def test_a_plan_is_chosen_by_the_device_unless_named() -> None:
    assert plan_of(parser().parse_args([]), fake_machine()).name == "gpu-full"
    assert plan_of(parser().parse_args([]), Machine()).name == "cpu-short"
    named = parser().parse_args(["--preset", "h200", "--minutes", "2", "--use", "subset"])
    plan = plan_of(named, Machine())
    assert (plan.name, plan.seconds, plan.use) == ("gpu-full", 120, "subset")


def test_each_run_has_a_file_of_its_own_named_by_date_and_device(tmp_path: Path) -> None:
    machine = fake_machine(FakeCuda("NVIDIA H100 80GB HBM3"))
    first = new_file(machine, tmp_path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_nvidia-h100-80gb-hbm3\.jsonl", first.name)
    for _ in range(3):  # the clock may tick meanwhile
        first.with_name(new_file(machine, tmp_path).name).touch()
    assert new_file(machine, tmp_path) not in set(tmp_path.iterdir())


def test_a_recipe_that_failed_shows_in_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ampcourse.benchmark import throughput

    monkeypatch.setattr(throughput, "_turn", lambda *_: 1 / 0)
    assert main([*QUICK, "--out", str(tmp_path / "r.jsonl"), "--quiet"]) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_keeps_its_rows(how: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    program = [sys.executable, "-c", _SLOW_SECOND_PART.format(out=str(out))]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if "TFLOP/s" in line:
                break
        time.sleep(0.5)
        running.send_signal(how)
        running.wait(120)
    assert running.returncode == (130 if how == signal.SIGINT else -9)
    found = rows.read(out)
    assert [row["kind"] for row in found][:1] == ["gemm"]
    assert found[0]["status"] == "ok"
    if how == signal.SIGINT:
        assert found[-1]["status"] == "interrupted"


# Whoever runs the tests in the background has SIGINT ignored, and what he starts inherits that.
_SLOW_SECOND_PART = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from ampcourse.benchmark import command, presets
from ampcourse.benchmark.plans import Gemm, Plan, Task, Throughput
task = Task("tiny", "3x3", 12, 8, "synthetic")
parts = (Gemm((8,), ("fp32",), 0.001), Throughput(task, ("fp32",), rounds=10**7, turn_s=0.0))
presets.PRESETS["rehearsal"] = Plan("rehearsal", "for tests", parts, 300.0, peaks_s=0.0)
sys.exit(command.main(["--device", "cpu", "--preset", "rehearsal", "--out", {out!r}]))
"""


def test_under_torchrun_two_processes_run_every_part_and_one_writes(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    recipes = ["--recipes", "fp32", "amp-fp16"]
    arguments = [*TINY, "--only", "throughput", "training", "largest_batch", *recipes]
    printed = launch(
        ["-m", "ampcourse.benchmark.command", *arguments, "--out", str(out)], 2, timeout=240
    )
    found = rows.read(out)
    statuses = {(row["kind"], row["status"]) for row in found}
    assert statuses == {("throughput", "ok"), ("training", "ok"), ("largest_batch", "skipped")}
    assert {row["world_size"] for row in found} == {2}
    assert {row["batch"] for row in found} == {16}
    assert "rows" in printed[0]
    assert printed[1].strip() == ""


def test_a_global_batch_that_cannot_be_shared_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    from ampcourse.distributed import LaunchError

    arguments = [*QUICK, "--batch", "7", "--out", str(tmp_path / "r.jsonl")]
    with pytest.raises(LaunchError, match=r"(?s)batch of 7 cannot be cut into 2 equal parts"):
        launch(["-m", "ampcourse.benchmark.command", *arguments], 2, timeout=120)


_BLOCKED = """
from importlib.machinery import PathFinder
names = {"jupyter", "jupyterlab", "notebook", "ipywidgets", "anywidget", "IPython", "ipykernel",
         "ml_dtypes", "psutil", "jupytext", "nbformat", "nbclient", "pynvml", "hypothesis"}
find = PathFinder.find_spec
def absent(name, path=None, target=None):
    return None if name.split(".")[0] in names else find(name, path, target)
PathFinder.find_spec = absent
"""


def test_a_copy_of_the_folder_runs_without_jupyter_and_without_installation(
    tmp_path: Path,
) -> None:
    ignore = shutil.ignore_patterns("__pycache__", "widgets", "courseware", "*.ipynb")
    shutil.copytree(ROOT / "ampcourse", tmp_path / "copy" / "ampcourse", ignore=ignore)
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "sitecustomize.py").write_text(_BLOCKED)
    out = tmp_path / "rows.jsonl"
    program = [sys.executable, "-m", "ampcourse", "benchmark", *QUICK, "--out", str(out)]
    done = subprocess.run(
        program,
        cwd=tmp_path / "copy",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "block")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(rows.read(out)) == 2
