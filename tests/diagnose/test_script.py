"""`ampcourse diagnose script.py` runs a script as python would and prints what was found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ampcourse.cli import main

SCRIPT = """
import sys
import torch
from torch.nn.utils import clip_grad_norm_ as clip
from beside import CLASSES

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(8, CLASSES)
    def forward(self, x):
        return self.head(x)

def train(faulty):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with torch.autocast("cpu", torch.float16):
        loss = net(torch.randn(4, 8)).float().square().mean()
    scaler.scale(loss).backward()
    if not faulty:
        scaler.unscale_(optimizer)
    clip(net.parameters(), 0.01)  # line 22
    scaler.step(optimizer)
    scaler.update()

if __name__ == "__main__":
    assert sys.modules["__main__"].Net is Net
    train(sys.argv[1] == "--faulty")
    print("trained", sys.argv[1:])
    exec(sys.argv[2])
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a script and a module beside it."""
    (tmp_path / "beside.py").write_text("CLASSES = 4\n")
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.lstrip("\n"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    return path


def test_a_clean_script_runs_as_main_with_its_arguments_and_ends_with_0(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv, path = list(sys.argv), list(sys.path)
    assert main(["diagnose", str(script), "--clean", "pass"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("trained ['--clean', 'pass']\n")
    assert "No findings in 1 optimizer step." in out
    assert (sys.argv, sys.path) == (argv, path)


def test_findings_make_the_status_1_and_name_the_line(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(script), "--faulty", "pass"]) == 1
    assert "1. clip_before_unscale at train.py:22" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        ("sys.exit(3)", 3, "ended with exit status 3"),
        ("sys.exit()", 1, "clip_before_unscale"),
        ("sys.exit('bad data')", 1, "ended with exit status bad data"),
        ("raise KeyboardInterrupt", 130, "ended with KeyboardInterrupt"),
        ("raise ValueError('no')", 1, "ended with ValueError: no"),
    ],
)
def test_findings_are_printed_however_the_script_ends(
    script: Path, capsys: pytest.CaptureFixture[str], ending: str, status: int, said: str
) -> None:
    assert main(["diagnose", str(script), "--faulty", ending]) == status
    printed = capsys.readouterr()
    assert "clip_before_unscale at train.py:22" in printed.out
    assert said in printed.out
    if "ValueError" in ending:
        assert printed.err.startswith("Traceback")
        assert "runpy" not in printed.err
        assert 'train.py", line' in printed.err


def test_a_path_that_is_no_file_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "no_such.py"]) == 2
    assert "no_such.py is no file" in capsys.readouterr().err
