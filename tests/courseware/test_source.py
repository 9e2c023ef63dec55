"""A lesson's source: its rules, and errors that name the file, the cell and the rule."""

from pathlib import Path

import pytest

from ampcourse.courseware.sheet import make_sheet
from ampcourse.courseware.source import SourceError, read_lesson, without_hidden, without_solution
from tests.courseware.conftest import SAMPLE

SOURCE = (SAMPLE / "notebooks" / "source" / "90_sample.py").read_text("utf-8")


def read(folder: Path, text: str, name: str = "90_sample.py") -> None:
    path = folder / name
    path.write_text(text, "utf-8")
    make_sheet(read_lesson(path))


def test_the_sample_is_sound(tmp_path: Path) -> None:
    read(tmp_path, SOURCE)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# A lesson for tests", "A lesson", "starts '# Title'"),
        ("### t90_2 · Refuse", "### t90_3 · Refuse", "headings have the ids"),
        ('task="t90_2"\n', 'task="t90_4"\n', "task cells have the ids"),
        ('check="t90_2"', 'check="t90_1"', "check cells have the ids"),
        ('check="t90_1" points=2', 'check="t90_1"', "needs points"),
        ('task="t90_2"\n', 'task="t90_2" reward=1\n', "unknown cell metadata ['reward']"),
        ("    ### END SOLUTION\n\n\n# %% check=\"t90_1\"", "\n# %% check=\"t90_1\"", "has no END"),
        ("    ### BEGIN SOLUTION\n    return", "    return", "END SOLUTION without BEGIN"),
        ("    return x + 1\n", "    return x + 1  # END SOLUTION soon\n", "names a marker"),
        ("print(demonstration)", "### BEGIN SOLUTION", "task and check cells only"),
        ('    check("add_one(-inf)"', '    check("0", 0, "other")  # (', "tabulated"),
        ('with task("t90_1")', 'with task("t90_2")', "are for ['t90_2']"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in SOURCE
    with pytest.raises(SourceError) as caught:
        read(tmp_path, SOURCE.replace(old, new, 1))
    assert words in str(caught.value)
    assert "90_sample" in str(caught.value)


def test_a_file_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="NN_slug"):
        read(tmp_path, SOURCE, "sample.py")


def test_a_stub_keeps_signature_and_docstring_only() -> None:
    solution = "    ### BEGIN SOLUTION\n    y = 1\n    return y\n    ### END SOLUTION"
    text = f'def f(x):\n    """Do."""\n{solution}'
    assert without_solution(text, "t90_1") == (
        'def f(x):\n    """Do."""\n    raise NotImplementedError("t90_1")'
    )


def test_hidden_checks_vanish_with_their_markers() -> None:
    text = "a\n    ### BEGIN HIDDEN TESTS\n    b\n    ### END HIDDEN TESTS\nc"
    assert without_hidden(text) == "a\nc"
