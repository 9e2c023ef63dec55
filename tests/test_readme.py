"""The README promises what is there."""

import inspect
import re
import sys
from pathlib import Path

import pytest

from ampcourse import widgets
from ampcourse.bootstrap.install import introduction
from ampcourse.bootstrap.start import EXTRAS
from ampcourse.classroom.learner_readme import KEPT

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ROW = re.compile(r"^\| \[(\d\d_\w+)\]\(([^)]*)\) \|.*\|.*\|$", re.M)
LARGEST = 150_000  # bytes of a picture


def links(text: str) -> list[str]:
    """Return where the links and pictures of a page lead."""
    return re.findall(r"\]\(([^)\s]+)\)", text)


def local(found: list[str]) -> list[str]:
    """Return those that lead to a file."""
    return [link for link in found if "://" not in link and not link.startswith("#")]


def images(text: str) -> list[tuple[str, str]]:
    """Return alt text and file of each picture."""
    return re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", text)


def section(heading: str) -> str:
    """Return the text below a heading of level two."""
    return README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_syllabus_has_every_lesson_that_has_a_source_in_order() -> None:
    sources = sorted(path.stem for path in (ROOT / "notebooks" / "source").glob("[0-9]*.py"))
    assert [slug for slug, _ in ROW.findall(README)] == sources
    assert [slug[:2] for slug in sources] == [f"{number:02}" for number in range(15)]
    assert [link for _, link in ROW.findall(README)] == [
        f"notebooks/{slug}.ipynb" for slug in sources
    ]


def test_every_link_to_a_file_leads_to_one() -> None:
    assert [link for link in local(links(README)) if not (ROOT / link).exists()] == []


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    headings = re.findall(r"^#+ (.+)$", README, re.M)
    there = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert {link[1:] for link in links(README) if link.startswith("#")} <= there


def test_every_picture_is_small_and_says_what_is_seen() -> None:
    found = images(README)
    assert len(found) == len({name for _, name in found}) >= 5
    assert "<img" not in README
    for alt, name in found:
        assert (ROOT / name).is_file(), name
        assert (ROOT / name).stat().st_size < LARGEST, name
        assert len(alt.split()) >= 12, name


def test_every_picture_in_the_folder_is_shown_somewhere() -> None:
    folder = ROOT / "notebooks" / "images"
    pages = README + (ROOT / "notebooks" / "TEACHING.md").read_text("utf-8")
    assert [path.name for path in folder.iterdir() if path.name not in pages] == []


def test_every_command_shown_is_one_that_there_is() -> None:
    used = set(re.findall(r"(?:python3 -m |py -m |`)ampcourse (?!needs)([a-z]+)", README))
    assert len(used) >= 10
    assert used <= set(EXTRAS)


def test_the_widgets_are_the_librarys_and_named_with_their_lessons() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d\d) \| .+ \|$", section("Things to drag"), re.M)
    there = {
        name
        for name, thing in vars(widgets).items()
        if inspect.isfunction(thing) and thing.__module__ == widgets.__name__
    }
    assert {name for name, _ in rows} == there
    assert len(rows) == len(there) == 12
    assert "Twelve widgets" in section("Things to drag")
    for name, lesson in rows:
        (path,) = (ROOT / "notebooks" / "source").glob(f"{lesson}_*.py")
        assert re.search(rf"from ampcourse\.widgets import .*\b{name}\b", path.read_text("utf-8"))


def test_what_learners_get_of_this_page_stands_alone() -> None:
    """A release takes these sections over, without the rest of the page and of the clone."""
    from ampcourse.classroom.release import ROOT_FILES

    for heading in KEPT:
        assert section(heading)
        assert set(links(section(heading))) <= set(ROOT_FILES), heading
    assert "Smaller on Linux" not in section("When something goes wrong")


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
