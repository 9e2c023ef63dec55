"""Where a command runs, and what may happen before anything is installed."""

import ast
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ampcourse.bootstrap import install as install_module
from ampcourse.bootstrap import start as start_module
from ampcourse.bootstrap.handover import hand_over
from ampcourse.bootstrap.install import install
from ampcourse.bootstrap.trouble import SetupError
from ampcourse.bootstrap.venv import Venv

from .conftest import PACKAGE, PYPROJECT, Clone


@pytest.mark.parametrize("argv", [[], ["--help"], ["lab", "--help"], ["test", "-h"], ["unknown"]])
def test_help_and_unknown_words_install_nothing(clone: Clone, argv: list[str]) -> None:
    result = clone.run(*argv)
    assert result.stdout.startswith("ran ")
    assert result.stdout.endswith(f"in {sys.prefix}\n")
    assert not clone.venv.exists()


def test_an_environment_that_has_everything_is_used_as_it_is(clone: Clone) -> None:
    complete = PYPROJECT.replace("ampcourse-fake-lab>=1", "pytest>=7")
    (clone.folder / "pyproject.toml").write_text(complete)
    result = clone.run("lab")
    assert result.stdout == f"ran lab in {sys.prefix}\n"
    assert result.stderr == ""
    assert not clone.venv.exists()


def test_every_command_that_needs_packages_is_known_to_the_bootstrap() -> None:
    from ampcourse.cli import parser

    (commands,) = (action for action in parser()._actions if action.dest == "command")
    assert set(commands.choices or ()) == set(start_module.EXTRAS)


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py"])
def test_what_an_old_python_reads_parses_there(name: str) -> None:
    text = (PACKAGE / name).read_text("utf-8")
    ast.parse(text, feature_version=(3, 7))  # the oldest that every Python's ast knows
    tokens = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.JoinedStr)]
    assert tokens == []  # ast lets f-strings pass, which Python 2 does not


def test_an_old_python_gets_one_sentence() -> None:
    script = """
import runpy, sys
sys.version_info = (3, 8, 10, "final", 0)
runpy.run_module("ampcourse", run_name="__main__")
"""
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True
    )
    assert result.returncode == 1
    assert result.stderr.startswith("ampcourse needs Python 3.11 or newer, and this one is 3.8 (")
    assert result.stderr.count("\n") == 1


def test_a_real_old_python_gets_the_sentence_too() -> None:
    names = [shutil.which(f"python3.{minor}") for minor in range(6, 11)]
    # A version manager leaves names on the path that start nothing.
    works = [
        name
        for name in names
        if name and not subprocess.run([name, "-c", ""], stderr=subprocess.DEVNULL).returncode
    ]
    if not works:
        pytest.skip("there is no Python older than 3.11 here")
    for python in works:
        command = [python, "-B", "-m", "ampcourse", "lab"]
        result = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True)
        assert result.stderr.startswith("ampcourse needs Python 3.11 or newer, and this one is 3.")


def test_before_anything_is_installed_only_the_standard_library_is_imported() -> None:
    script = f"""
import pathlib, sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
import ampcourse.bootstrap.start, ampcourse.cli, ampcourse.launch
for file in pathlib.Path({str(PACKAGE / "bootstrap")!r}).glob("*.py"):
    __import__("ampcourse.bootstrap." + file.stem)
tops = {{name.partition(".")[0] for name in sys.modules}}
print(sorted(tops - set(sys.stdlib_module_names) - {{"ampcourse", "__main__"}}))
"""
    command = [sys.executable, "-I", "-S", "-c", script]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for Python is a shell script")
def test_a_python_without_venv_says_what_to_install(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = clone.folder / "python"
    python.write_text(
        "#!/bin/sh\necho 'The virtual environment was not created successfully because "
        "ensurepip is not available.'; exit 1\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "_base_executable", str(python))
    with pytest.raises(SetupError, match="cannot make a virtual environment"):
        install(Venv(clone.folder), {"lab"}, lambda _: None)
    assert not Venv(clone.folder).is_ready({"lab"})


def test_the_learner_reads_how_large_it_is_and_whether_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 8, 10**9))
    text = install_module.introduction(tmp_path / ".venv", {"lab"})
    assert "3.2 GB to download" in text
    assert "Only 1.0 GB are free" in text
    monkeypatch.setattr(sys, "platform", "darwin")
    text = install_module.introduction(tmp_path / ".venv", {"lab", "test"})
    assert "0.3 GB to download" in text
    assert "test tools" in text
    assert "Only" not in text


def test_windows_has_its_programs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = Venv(tmp_path)
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        python = venv.python
    assert python == tmp_path / ".venv" / "Scripts" / "python.exe"


def test_where_a_process_cannot_be_replaced_the_exit_code_comes_back_and_ctrl_c_is_the_childs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    during: list[object] = []

    def call(command: list[str], env: dict[str, str]) -> int:
        during.append(signal.getsignal(signal.SIGINT))
        return 7

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        windows.setattr(subprocess, "call", call)
        code = hand_over(["python.exe"], {})
    assert code == 7
    assert during == [signal.SIG_IGN]
    assert signal.getsignal(signal.SIGINT) == before


def test_the_activated_environment_finds_the_venv_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", "/elsewhere")
    names = start_module._activated(Venv(tmp_path))
    assert names["PATH"].split(os.pathsep)[0] == str(Venv(tmp_path).programs)
    assert names["VIRTUAL_ENV"] == str(tmp_path / ".venv")
    assert "PYTHONHOME" not in names
