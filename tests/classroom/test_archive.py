"""Zip files that somebody else has made are opened with care."""

import re
import struct
import zipfile
from pathlib import Path

import pytest

from ampcourse.classroom import archive
from ampcourse.classroom.archive import ArchiveError, unpack

ANY = re.compile(r"\.ipynb$")


def packed(path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries:
            made.writestr(name, content)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize(
    "name",
    ["../evil.ipynb", "a/../../evil.ipynb", "/etc/evil.ipynb", "C:/evil.ipynb", "..\\evil.ipynb"],
)
def test_a_path_that_leads_out_is_refused_and_nothing_written(
    tmp_path: Path, folder: Path, name: str
) -> None:
    made = packed(tmp_path / "a.zip", ("good.ipynb", b"{}"), (name, b"{}"))
    with pytest.raises(ArchiveError, match="leads out of the archive"):
        list(unpack(made, folder, ANY))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.zip", "out"]


def test_a_link_is_refused(tmp_path: Path, folder: Path) -> None:
    link = zipfile.ZipInfo("link.ipynb")
    link.external_attr = 0o120777 << 16
    with pytest.raises(ArchiveError, match="link"):
        list(unpack(packed(tmp_path / "a.zip", (link, b"/etc/passwd")), folder, ANY))


def test_an_encrypted_archive_says_so(tmp_path: Path, folder: Path) -> None:
    made = packed(tmp_path / "a.zip", ("x.ipynb", b"{}"))
    content = bytearray(made.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    made.write_bytes(content)
    with pytest.raises(ArchiveError, match="encrypted: unpack it yourself"):
        list(unpack(made, folder, ANY))


def test_a_bomb_is_refused_by_what_it_says_it_holds(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL", 1_000_000)
    made = packed(tmp_path / "a.zip", ("x.ipynb", bytes(2_000_000)))
    assert made.stat().st_size < 10_000
    with pytest.raises(ArchiveError, match="2,000,000 bytes"):
        list(unpack(made, folder, ANY))


def test_a_bomb_that_lies_about_its_size_is_cut_short(tmp_path: Path, folder: Path) -> None:
    made = packed(tmp_path / "a.zip", ("x.ipynb", bytes(2_000_000)))
    content = made.read_bytes().replace(struct.pack("<I", 2_000_000), struct.pack("<I", 10))
    made.write_bytes(content)
    (member,) = unpack(made, folder, ANY)
    assert "cannot be taken out" in member.problem or member.path.stat().st_size <= 10


def test_too_many_entries_are_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 3)
    made = packed(tmp_path / "a.zip", *((f"{k}.ipynb", b"{}") for k in range(4)))
    with pytest.raises(ArchiveError, match="4 files"):
        list(unpack(made, folder, ANY))


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 and then nothing"])
def test_what_is_no_archive_is_told(tmp_path: Path, folder: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ArchiveError, match="no complete zip file"):
        list(unpack(tmp_path / "a.zip", folder, ANY))


def test_a_damaged_entry_costs_only_itself(tmp_path: Path, folder: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("bad.ipynb", b"0123456789" * 10)
        made.writestr("good.ipynb", b"{}")
    content = (tmp_path / "a.zip").read_bytes().replace(b"0123456789" * 10, b"9" * 100)
    (tmp_path / "a.zip").write_bytes(content)
    bad, good = unpack(tmp_path / "a.zip", folder, ANY)
    assert "cannot be taken out" in bad.problem
    assert good.path.read_bytes() == b"{}"


def test_a_name_in_utf8_that_is_not_marked_as_such_is_read(tmp_path: Path, folder: Path) -> None:
    name = "Zoë_1_assignsubmission_file_/x.ipynb"
    made = packed(tmp_path / "a.zip", (name, b"{}"))
    content = bytearray(made.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        content[content.index(signature) + offset] &= ~0x08
    made.write_bytes(content)
    (member,) = unpack(made, folder, ANY)
    assert str(member.place) == name
