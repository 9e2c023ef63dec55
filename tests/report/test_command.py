"""The command reads any set of row files, prints one report, and says what it cannot read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ampcourse.benchmark.rows import append
from ampcourse.report import command
from ampcourse.report.command import main
from tests.report.made_rows import rate, training


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two files: rates, one of which failed, and trainings of three seeds."""
    first, second = tmp_path / "rates.jsonl", tmp_path / "trainings.jsonl"
    for row in (rate("fp32", 1000), rate("amp-bf16", 2000)):
        append(first, row)
    append(first, rate("O3", 1, status="out_of_memory", message="no room for batch 64"))
    for seed in range(3):
        for recipe in ("fp32", "amp-bf16"):
            append(second, training(recipe, seed, 0.8 + seed / 1000))
    return [str(first), str(second)]


def test_rows_of_all_files_are_in_one_report(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*files, "--no-published"]) == 0
    printed = capsys.readouterr().out
    assert "NVIDIA H200: tiny, 3x3 stem, 16 px, batch 64\n" in printed
    assert "NVIDIA H200: tiny, 3x3 stem, 16 px, batch 64, 2 epochs\n" in printed
    assert "equivalent within ±2 points" in " ".join(printed.split())  # lines are wrapped
    assert printed.endswith(
        "Did not end well:\n- throughput O3: out of memory, no room for batch 64\n"
    )


def test_the_margin_can_be_another(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*files, "--no-published", "--margin", "0.5"]) == 0
    assert "within ±0.5 points" in " ".join(capsys.readouterr().out.split())


def test_published_and_quoted_runs_stand_below(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "pairs", list)
    assert main(["--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "### Published: ResNet50" in printed
    assert "| GPU not recorded | ResNet50, FashionMNIST | quoted |" in printed


def test_a_figure_is_written(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rates.svg"
    assert main([*files, "--no-published", "--figure", str(path)]) == 0
    assert "amp-bf16" in path.read_text()


def test_a_line_that_breaks_off_is_reported_and_the_rest_is_read(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with open(files[0], "a") as file:
        file.write('{"kind": "throughput", "sta')
    assert main([files[0], "--no-published"]) == 0
    captured = capsys.readouterr()
    assert "rates.jsonl, line 4 breaks off" in captured.err
    assert "amp-bf16" in captured.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not a row\n", "line 1 is no result row"),
        ('{"kind": "throughput", "status": "ok", "recipe": "fp32"}\n', "a row has no 'machine'"),
    ],
)
def test_a_file_of_something_else_is_an_error_that_names_what(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.txt"
    path.write_text(text)
    assert main([str(path), "--no-published"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("ampcourse report: ")
    assert message in captured.err
    assert captured.out == ""


def test_a_file_that_is_not_there_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_without_a_rate_there_is_no_figure_and_a_line_that_says_so(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.svg"
    assert main([files[1], "--no-published", "--figure", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"no {path}: there is no row of throughput to draw\n"
    assert "2 epochs" in captured.out
    assert not path.exists()


def test_a_figure_that_cannot_be_written_costs_no_table(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "x.svg"
    assert main([files[0], "--no-published", "--figure", str(path)]) == 2
    captured = capsys.readouterr()
    assert str(path) in captured.err
    assert "amp-bf16" in captured.out


def test_it_runs_where_there_is_no_jupyter(files: list[str], tmp_path: Path) -> None:
    figure = tmp_path / "figure.png"
    code = (
        "import sys\n"
        "for name in ('IPython', 'ipywidgets', 'anywidget', 'jupyterlab', 'ipykernel', 'psutil',\n"
        "             'ml_dtypes', 'nbformat', 'nbclient', 'jupytext'):\n"
        "    sys.modules[name] = None\n"
        "from ampcourse.report.command import main\n"
        f"sys.exit(main([*{files!r}, '--no-published', '--figure', {str(figure)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert figure.stat().st_size > 0
