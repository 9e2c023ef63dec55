"""CI runs what the README tells people to run, and little else."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "run"


def commands() -> list[str]:
    lines = SCRIPT.read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def test_ci_ends_in_the_readmes_test_command() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    documented = re.findall(r"^```\n(python3 -m ampcourse test)\n```$", readme, re.M)
    assert documented
    assert commands()[-1] == f"exec {documented[0]}"


def test_ci_is_executable_and_stops_at_the_first_failure() -> None:
    assert os.access(SCRIPT, os.X_OK)
    assert commands()[0] == "set -euo pipefail"


def test_ci_installs_nothing_but_chromium_and_bubblewrap() -> None:
    installs = [line for line in commands() if re.search(r"\binstall\b", line)]
    assert len(installs) == 1
    assert installs[0].startswith("apt-get install")
    assert '"$package"' in installs[0]
    named = re.findall(r"missing\+=\((\w+)\)", SCRIPT.read_text("utf-8"))
    assert named == ["chromium", "bubblewrap"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("present", [("chromium", "bwrap"), ("bwrap",), ("chromium",), ()])
def test_ci_installs_only_what_is_missing(tmp_path: Path, present: tuple[str, ...]) -> None:
    for name in ["apt-get", "python3", *present]:
        stub = tmp_path / name
        stub.write_text(f'#!/bin/sh\necho {name} "$@" in "$PWD"\n')
        stub.chmod(0o755)
    for name in ("bash", "dirname", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    result = subprocess.run(
        ["bash", str(SCRIPT)],
        env={"PATH": str(tmp_path)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr
    assert lines[-1] == f"python3 -m ampcourse test in {ROOT}"
    for package, command in {"chromium": "chromium", "bubblewrap": "bwrap"}.items():
        installed = any(package in line.split() for line in lines)
        assert installed is (command not in present)
