"""The README promises what is there."""

import re
import sys
from pathlib import Path

import pytest

from ampcourse.bootstrap.install import introduction

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ROW = re.compile(r"^\| \[?(\d\d_\w+)\]?(?:\(([^)]*)\))? \|.*\| (ready|to come) \|$", re.M)


def test_the_syllabus_has_fifteen_lessons_in_order() -> None:
    slugs = [slug for slug, _, _ in ROW.findall(README)]
    assert [slug[:2] for slug in slugs] == [f"{number:02}" for number in range(15)]


def test_the_syllabus_marks_as_ready_exactly_the_lessons_that_have_a_source() -> None:
    sources = {path.stem for path in (ROOT / "notebooks" / "source").glob("[0-9]*.py")}
    rows = ROW.findall(README)
    assert {slug for slug, _, state in rows if state == "ready"} == sources
    for slug, link, state in rows:
        assert link == (f"notebooks/{slug}.ipynb" if state == "ready" else "")


def test_every_link_to_a_file_leads_to_one() -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    broken = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert broken == []


def test_every_message_listed_is_one_that_is_said() -> None:
    section = README.partition("## When something goes wrong")[2].partition("\n## ")[0]
    messages = re.findall(r"^\| ([A-Za-z][^|]*?) \|", section, re.M)[1:]
    assert len(messages) >= 6
    places = [ROOT / "ampcourse" / "__main__.py", *(ROOT / "ampcourse" / "bootstrap").glob("*.py")]
    # A sentence may be broken over lines or hold a field in the source.
    said = re.sub(r'"\s*f?"|\{[^}]*\}', "", " ".join(path.read_text("utf-8") for path in places))
    assert [message for message in messages if message.removesuffix(" torch") not in said] == []


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_set_up_gives_the_sizes_that_the_readme_gives(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    said = re.findall(r"\d[.]\d GB (?:to download|on disk)", introduction(ROOT / "x", set()))
    assert said
    assert [size for size in said if size not in README] == []


def test_the_licences_are_the_ones_named() -> None:
    assert "BSD 3-Clause" in (ROOT / "LICENSE").read_text("utf-8")
    text = (ROOT / "LICENSE-CC-BY-4.0").read_text("utf-8")
    assert text.startswith("Attribution 4.0 International")
