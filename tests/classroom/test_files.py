"""Files are written whole or not at all, under names that any system takes."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ampcourse.classroom.files import file_stem, write_whole


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_whole(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


@given(st.lists(st.text(max_size=80), unique=True, max_size=20))
def test_different_students_have_different_stems_even_where_case_does_not_count(
    names: list[str],
) -> None:
    stems = [file_stem(name) for name in names]
    assert len({stem.lower() for stem in stems}) == len(names)
    for stem in stems:
        assert stem == Path(stem).name
        assert stem.isascii()
        assert 0 < len(stem) <= 60


@pytest.mark.parametrize("name", ["..", ".", "con", "nul.txt", "a/b", "a.", "Ann", "é", ""])
def test_awkward_names_are_replaced(name: str) -> None:
    stem = file_stem(name)
    assert stem != name
    assert stem.split(".")[0] not in ("con", "nul")


def test_a_plain_name_stays_readable() -> None:
    assert file_stem("doe_jane.2") == "doe_jane.2"
