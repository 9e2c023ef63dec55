"""The commands as a teacher types them, with the kernels that this machine has."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ampcourse import cli
from ampcourse.classroom.collection import Catalogue
from ampcourse.classroom.command import is_class
from ampcourse.classroom.store import Store
from tests.classroom.conftest import LESSON, WRONG, notebook
from tests.courseware.conftest import RIGHT

ROOT = Path(__file__).parents[2]
Put = Callable[..., Path]
SLOW = {**RIGHT, "t90_1": f"import time\ntime.sleep(1.5)\n{RIGHT['t90_1']}"}


@pytest.fixture
def inside(course: Catalogue, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the sample course's folder."""
    monkeypatch.chdir(course.root)
    return course.root


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ampcourse", *arguments],
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_a_class_is_graded_and_interrupted_and_goes_on(
    inside: Path, put: Put, tmp_path: Path
) -> None:
    put(f"a/{LESSON}.ipynb", notebook(WRONG))
    for student in ("b", "c", "d"):
        put(f"{student}/{LESSON}.ipynb", notebook(SLOW))
    arguments = ("grade", str(tmp_path / "in"), "--results", "grades", "--workers", "1")
    results = inside / "grades" / "results" / LESSON
    first = start(inside, *arguments)
    end = time.monotonic() + 120
    while not list(results.glob("*.json")) and time.monotonic() < end:
        assert first.poll() is None, first.communicate()
        time.sleep(0.05)
    family = psutil.Process(first.pid).children(recursive=True)
    os.killpg(first.pid, signal.SIGINT)  # as Ctrl-C does in a terminal
    out, errors = first.communicate(timeout=60)
    assert first.returncode == 130, out + errors
    assert "Traceback" not in errors
    assert "what was graded is kept in grades; the same command goes on from there" in errors
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    kept = {path.name: path.read_bytes() for path in results.glob("*.json")}
    assert "a.json" in kept
    assert len(kept) < 4
    second = start(inside, *arguments)
    out, errors = second.communicate(timeout=200)
    assert second.returncode == 0, out + errors
    assert f"{4 - len(kept)} graded now, {len(kept)} unchanged, 0 not graded" in out
    assert kept == {name: (results / name).read_bytes() for name in kept}
    scores = {record.student: record.score for record in Store(inside / "grades").records()}
    assert scores == {"a": 4, "b": 5, "c": 5, "d": 5}
    assert "that is one less" in (inside / "grades" / "class.html").read_text("utf-8")


def test_a_command_that_is_killed_leaves_its_results_and_no_process(
    inside: Path, put: Put, tmp_path: Path
) -> None:
    put(f"a/{LESSON}.ipynb", notebook(WRONG))
    put(f"b/{LESSON}.ipynb", notebook(SLOW))
    command = start(inside, "grade", str(tmp_path / "in"), "--workers", "1")
    results = inside / "grades" / "results" / LESSON
    end = time.monotonic() + 120
    while not list(results.glob("*.json")) and time.monotonic() < end:
        time.sleep(0.05)
    family = psutil.Process(command.pid).children(recursive=True)
    command.kill()
    command.communicate(timeout=60)
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
    (record,) = Store(inside / "grades").records()
    assert (record.student, record.score) == ("a", 4)


def test_a_file_alone_is_printed_as_before_and_nothing_is_written(
    inside: Path, put: Put, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(f"{LESSON}.ipynb", notebook(WRONG))
    assert cli.main(["grade", str(path)]) == 0
    told = capsys.readouterr().out
    assert "t90_1 Add one: 1 of 2" in told
    assert "total: 4 of 5" in told
    assert not (inside / "grades").exists()
    assert cli.main(["grade", str(path), "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["score"] == 4


def test_a_file_that_cannot_be_graded_is_status_1(inside: Path, put: Put) -> None:
    assert cli.main(["grade", str(put("x.ipynb", b""))]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["grade"], "name notebooks, folders or zip files to grade"),
        (["grade", "nowhere", "--results", "grades"], "nowhere is not there"),
        (["grade", ".", "--results", "notebooks"], "holds other things than results"),
        (["grade", "empty"], "no notebook of this course's"),
        (["grade", "empty", "--due", "soon"], "'soon' is no date and time"),
        (["grade", "empty", "--lessons", "77"], "no lesson '77'"),
        (["grade", "broken.zip"], "no complete zip file"),
        (["grade", "empty", "--scheduler", "tcp://127.0.0.1:9"], "no notebook"),
        (["export", "csv", "x.csv"], "grades is no results folder"),
        (["release", "notebooks"], "is there and not empty"),
        (["check", "nowhere.ipynb"], "it cannot be opened"),
        (["grade", "--self-test"], "has no tests/wrong_answers"),
    ],
)
def test_misuse_is_told_in_a_line_with_status_2(
    inside: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (inside / "empty").mkdir()
    (inside / "broken.zip").write_bytes(b"PK")
    assert cli.main(arguments) == 2
    told = capsys.readouterr().err.strip().split("\n")[-1]
    assert told.startswith(f"ampcourse {arguments[0]}: ")
    assert words in told


def test_results_in_a_folder_that_cannot_be_written_are_told(
    inside: Path, put: Put, capsys: pytest.CaptureFixture[str]
) -> None:
    put(f"ann/{LESSON}.ipynb")
    (inside / "grades").write_text("a file")
    assert cli.main(["grade", str(inside.parent / "in")]) == 2
    assert "grades is a file" in capsys.readouterr().err
    assert cli.main(["grade", str(inside.parent / "in"), "--results", "/proc/grades"]) == 2
    assert "/proc/grades" in capsys.readouterr().err


def test_on_a_full_disk_the_command_says_what_is_kept(
    inside: Path, put: Put, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Store, record: object) -> None:
        raise OSError(28, "No space left on device")

    put(f"ann/{LESSON}.ipynb", b"")
    monkeypatch.setattr(Store, "keep", full)
    assert cli.main(["grade", str(inside.parent / "in")]) == 2
    told = capsys.readouterr().err
    assert "No space left on device: what was graded is kept in grades" in told


def test_collect_lists_who_handed_in_what(
    inside: Path, put: Put, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(f"ann/{LESSON}/homework.ipynb")
    put("bob/diary.ipynb", b'{"cells": []}')
    roster = tmp_path / "roster.txt"
    roster.write_text("ann\nzoe\n")
    assert cli.main(["collect", str(tmp_path / "in"), "--roster", str(roster)]) == 1
    told = capsys.readouterr().out
    assert f"{LESSON}: nothing from zoe" in told
    assert "homework.ipynb is not named after the lesson" in told
    assert "belongs to no lesson" in told
    assert "1 notebooks to grade" in told


def test_a_name_that_is_no_text_is_graded_and_printed(inside: Path, put: Put) -> None:
    folder = inside.parent / "in" / os.fsdecode(b"zo\xeb")
    put(f"ann/{LESSON}.ipynb", b"")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this system has no such names")
    (folder / f"{LESSON}.ipynb").write_bytes(b"")
    command = start(inside, "grade", str(inside.parent / "in"))
    out, errors = command.communicate(timeout=120)
    assert command.returncode == 1, errors
    assert "zo\\udceb" in out
    assert "2 not graded" in out
    assert len(list((inside / "grades" / "feedback").iterdir())) == 2


def test_folders_and_zips_make_a_class_and_files_do_not(tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").mkdir()
    assert is_class([tmp_path])
    assert is_class([Path("a.zip")])
    assert not is_class([tmp_path / "x.ipynb", Path("b.ipynb")])
