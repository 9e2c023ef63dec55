"""The capstone's command, and the script that is made of a learner's parts."""

from __future__ import annotations

import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")

import torch

from ampcourse.training import reference
from ampcourse.training.capstone import Run, TrainingStopped
from ampcourse.training.script import main, script

PARTS = reference.fit, reference.evaluate, reference.save, reference.load
SHORT = ["--data", "subset", "--images", "256", "--device", "cpu", "--epochs", "2"]


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_num_threads(threads)


def test_the_command_prints_scores_saves_and_resumes(tmp_path: Path, capsys: Any) -> None:
    path = str(tmp_path / "c.pt")
    assert main(*PARTS, [*SHORT, "--save", str(tmp_path / "whole.pt")]) == 0
    assert main(*PARTS, [*SHORT, "--stop-after", "1", "--save", path]) == 0
    assert main(*PARTS, [*SHORT, "--seed", "9", "--resume", path, "--save", path]) == 0
    out = capsys.readouterr().out
    assert "resumed after step 4 from c.pt" in out
    assert out.count("epoch 2/2") == 2
    states = [torch.load(tmp_path / name)["model"] for name in ("whole.pt", "c.pt")]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_a_training_that_stops_ends_the_command_with_its_cause(capsys: Any) -> None:
    def fit(run: Run, steps: int) -> None:
        raise TrainingStopped("gradients", "scale 0.5")

    assert main(fit, *PARTS[1:], SHORT) == 1
    assert "step 0: stopped: gradients (scale 0.5)" in capsys.readouterr().err


def test_a_fit_that_notes_nothing_is_told_so() -> None:
    with pytest.raises(RuntimeError, match=r"fit has added nothing to run\.history"):
        main(lambda run, steps: None, *PARTS[1:], SHORT)


CELLS = {
    "<cell 1>": "from statistics import mean\nLIMIT = 3\nprint('only in the notebook')\n\n\n"
    "def helper(x):\n    return mean([x, LIMIT])\n\n\ndef fit(run, steps):\n"
    "    run.history += [{'loss': helper(5), 'scale': 1.0, 'taken': True}] * steps\n",
    "<cell 2>": "def evaluate(run):\n    return {'accuracy': 0.5}\n\nevaluate(None)\n",
    "<cell 3>": "def save(run, path):\n    torch.save({}, path)\n\n\n"
    "def load(run, path):\n    pass\n",
}


def test_a_script_of_a_learners_cells_runs_by_itself(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    for name, text in CELLS.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), names)
    text = script(*(names[part] for part in ("fit", "evaluate", "save", "load")))
    assert "only in the notebook" not in text
    assert "evaluate(None)" not in text
    assert text.count("def save") == 1
    path = tmp_path / "train.py"
    path.write_text(text, "utf-8")
    command = [sys.executable, str(path), *SHORT, "--save", "c.pt"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "epoch 2/2: loss 4.0000, scale 1, skipped 0, " in done.stdout
    assert "accuracy 0.5000" in done.stdout
    assert (tmp_path / "c.pt").is_file()


def test_a_function_whose_text_is_gone_makes_no_script() -> None:
    names: dict[str, Any] = {}
    exec(compile("def fit(run, steps): pass", "<gone>", "exec"), names)
    with pytest.raises(ValueError, match="run the cell that defines it once more"):
        script(names["fit"])
