"""The commands that measure: what they hand on, and what they say where torch is missing."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ampcourse import cli

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("command", ["benchmark", "report"])
def test_without_torch_a_measuring_command_says_what_it_needs(command: str) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        f"from ampcourse.cli import main; sys.exit(main(['{command}']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert f"ampcourse {command}: torch is missing here. It needs torch" in done.stderr
    assert "Traceback" not in done.stderr


def test_benchmark_ends_with_a_report_and_a_figure_beside_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ampcourse.benchmark import command as benchmark
    from ampcourse.report import command as report

    calls: list[Sequence[str]] = []

    def measured(arguments: Sequence[str], finish: Callable[[Path], int]) -> int:
        calls.append(arguments)
        return finish(Path("rows.jsonl"))

    def reported(arguments: Sequence[str]) -> int:
        calls.append(arguments)
        return 0

    monkeypatch.setattr(benchmark, "main", measured)
    monkeypatch.setattr(report, "main", reported)
    assert cli.main(["benchmark", "--preset", "rehearsal"]) == 0
    assert calls == [["--preset", "rehearsal"], ["rows.jsonl", "--figure", "rows.svg"]]


def test_report_passes_its_arguments_through(monkeypatch: pytest.MonkeyPatch) -> None:
    from ampcourse.report import command as report

    monkeypatch.setattr(report, "main", lambda arguments: len(arguments))
    assert cli.main(["report", "--markdown", "a.jsonl", "b.jsonl"]) == 3


def test_every_command_has_help_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    told = capsys.readouterr().out
    for command in ("build", "release", "collect", "grade", "export", "check", "diagnose"):
        assert f"    {command} " in told
        with pytest.raises(SystemExit) as left:
            cli.main([command, "--help"])
        assert left.value.code == 0


@pytest.mark.parametrize("arguments", [["grade", "x.ipynb", "--workers", "0"], ["export", "xml"]])
def test_an_option_with_a_wrong_value_is_misuse(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert left.value.code == 2
