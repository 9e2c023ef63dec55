"""`ampcourse check` runs a learner's own notebook and tells which visible checks hold."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ampcourse import cli
from ampcourse.classroom.visible import ONLY_VISIBLE, run_visible
from ampcourse.courseware.submission import SubmissionError
from tests.classroom.conftest import LESSON, WRONG, notebook
from tests.courseware.conftest import RIGHT

pytest.importorskip("nbclient", reason="needs the lab extra")
Put = Callable[..., Path]


def test_each_task_is_told_with_its_cause(put: Put, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(
        f"{LESSON}.ipynb", notebook({**WRONG, "t90_2": "raise NotImplementedError('t90_2')"})
    )
    assert cli.main(["check", str(path)]) == 1
    told = capsys.readouterr().out
    assert "✗ t90_1: t90_1 does not pass yet" in told
    assert "`add_one(1)` gave 0; expected 2: that is one less" in told
    assert "✗ t90_2" in told
    assert ONLY_VISIBLE in told


def test_right_answers_pass_and_the_file_stays_as_it_was(
    put: Put, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(f"{LESSON}.ipynb")
    before = path.read_bytes()
    assert cli.main(["check", str(path)]) == 0
    told = capsys.readouterr().out
    assert "✓ t90_1: all visible checks hold" in told
    assert "2 of 2 tasks. " + ONLY_VISIBLE in told
    assert path.read_bytes() == before


def test_what_only_the_visible_checks_accept_passes_here(put: Put) -> None:
    table = {**RIGHT, "t90_1": "def add_one(x):\n    return {1: 2}.get(x, x)"}
    assert all(item.holds for item in run_visible(put("x.ipynb", notebook(table))))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os\nos._exit(1)", "a cell before it ended the kernel"),
        ("while True:\n    pass", "a cell before it took more than 3 s"),
    ],
)
def test_a_cell_that_ends_or_blocks_the_kernel_is_told(put: Put, text: str, words: str) -> None:
    path = put("x.ipynb", notebook({**RIGHT, "t90_2": text}))
    first, second = run_visible(path, seconds=3)
    assert first.holds
    assert not second.holds
    assert words in second.told


@pytest.mark.parametrize("content", [b"", b"{}", b"no json", b"\xff\xfe", b"[]"])
def test_what_is_no_notebook_is_told(put: Put, content: bytes) -> None:
    with pytest.raises(SubmissionError, match=r"x\.ipynb"):
        run_visible(put("x.ipynb", content))


def test_a_notebook_of_another_course_is_told(put: Put) -> None:
    content = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    with pytest.raises(SubmissionError, match="no check cells"):
        run_visible(put("x.ipynb", content))
