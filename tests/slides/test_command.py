"""`ampcourse slides`: which decks a name means, and what is told where a browser is missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ampcourse.slides import pdf
from ampcourse.slides.command import select
from ampcourse.slides.deck import DeckError

NAMES = ("00_start", "01_one", "02_two", "first_hour")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a course's folder with four decks, and with a file beside them that is none."""
    (tmp_path / "slides").mkdir()
    for name in (*reversed(NAMES), "notes_to_myself"):
        (tmp_path / "slides" / f"{name}.md").write_text("# A deck {title}\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ((), NAMES),
        (("01",), ("01_one",)),
        (("02_two", "00"), ("02_two", "00_start")),
        (("first_hour",), ("first_hour",)),
        (("first_hour", "01"), ("first_hour", "01_one")),
    ],
)
def test_a_deck_is_chosen_by_number_or_name_and_all_by_none(
    root: Path, asked: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    assert [path.name for path in select(root, asked)] == [f"{name}.md" for name in chosen]


@pytest.mark.parametrize("unknown", ["07", "fi", "0", "one", "notes_to_myself", ""])
def test_an_unknown_name_is_told_with_all_that_there_are(root: Path, unknown: str) -> None:
    with pytest.raises(DeckError) as error:
        select(root, ["01", unknown])
    assert str(error.value) == f"no deck {unknown!r}; there are: {', '.join(NAMES)}"


def test_without_the_first_hour_there_are_only_the_lessons_decks(root: Path) -> None:
    (root / "slides" / "first_hour.md").unlink()
    assert [path.stem for path in select(root, [])] == list(NAMES[:-1])


@pytest.mark.parametrize("asked", [(), ("01",)])
def test_where_there_are_no_decks_one_is_told_where_they_are(
    tmp_path: Path, asked: tuple[str, ...]
) -> None:
    with pytest.raises(DeckError, match=r"no decks in .*slides: building slides needs a clone"):
        select(tmp_path, asked)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which programs are found; it is empty."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(pdf, "_ELSEWHERE", ())
    return folder


def silent_browser(folder: Path, status: int = 0) -> Path:
    """Write a program called chromium that prints no page, says so and ends with `status`."""
    program = folder / "chromium"
    program.write_text(f"#!/bin/sh\necho 'no room for a page' >&2\nexit {status}\n", "utf-8")
    program.chmod(0o755)
    return program


def test_without_a_browser_one_is_told_what_to_install_and_another_way(programs: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        pdf.find_browser()
    for words in ("Chromium, Chrome or Edge", "apt install chromium", "?print-pdf"):
        assert words in str(error.value)


@pytest.mark.skipif(sys.platform == "win32", reason="the program that stands in is a shell script")
@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_browser_that_writes_nothing_is_quoted(
    programs: Path, tmp_path: Path, status: int, earlier: bool
) -> None:
    program = silent_browser(programs, status)
    printed = tmp_path / "deck.pdf"
    if earlier:  # a PDF of an earlier call is not what this one printed
        printed.write_bytes(b"%PDF-1.4 /Type /Page")
    with pytest.raises(OSError, match="printed nothing: no room for a page") as error:
        pdf.print_pdf(tmp_path / "deck.html", printed)
    assert str(program) in str(error.value)


def test_the_first_browser_on_the_path_is_taken(programs: Path) -> None:
    program = silent_browser(programs)
    assert pdf.find_browser() in (str(program), os.path.normcase(program))
