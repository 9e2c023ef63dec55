"""A wheel and an sdist hold every file that the package needs at run time, not its Python only."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", "77", reason="builds the wheel")

ROOT = Path(__file__).parents[1]
IGNORED = ("__pycache__", "*.pyc", "*.egg-info", ".*")
BUILD = "from setuptools import build_meta as b; b.build_wheel('out'); b.build_sdist('out')"
NEEDED = {
    "slides/static/theme.css": "decks",
    "slides/static/deck.js": "decks",
    "slides/static/reveal/reveal.js": "decks",
    "slides/static/reveal/LICENSE": "the presentation library's terms",
    "widgets/static/theme.css": "widgets",
    "widgets/static/dom.js": "widgets",
    "widgets/static/type_flow.js": "widgets",
    "classroom/templates/base.html": "class pages",
    "classroom/templates/class.html": "class pages",
    "classroom/templates/student.html": "class pages",
    "amp/op_policy_cpu.json": "the lists of autocast",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel and an sdist from a copy of the tree; return their folder."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "ampcourse", tree / "ampcourse", ignore=shutil.ignore_patterns(*IGNORED))
    for path in [ROOT / "pyproject.toml", ROOT / "README.md", *ROOT.glob("LICENSE*")]:
        shutil.copy(path, tree)
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return tree / "out"


@pytest.fixture(params=["wheel", "sdist"])
def packed(request: pytest.FixtureRequest, built: Path) -> set[str]:
    """Return the names of the packed files, from the package's folder on."""
    if request.param == "wheel":
        with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
            names = wheel.namelist()
    else:
        with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
            names = [name.split("/", 1)[-1] for name in sdist.getnames()]
    return {name.removeprefix("ampcourse/") for name in names if name.startswith("ampcourse/")}


def sources() -> set[str]:
    """Return the package's files: all that lie in its folder and that git does not ignore."""
    folder = ROOT / "ampcourse"
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def test_what_pages_decks_and_widgets_are_made_of_is_in_the_tree() -> None:
    assert set(NEEDED) <= sources()


def test_no_file_of_the_package_is_left_out(packed: set[str]) -> None:
    assert not sources() - packed


def test_nothing_else_is_packed_into_the_package(packed: set[str]) -> None:
    directories = {parent.as_posix() for name in packed for parent in Path(name).parents}
    assert not {name for name in packed - sources() if name.rstrip("/") not in directories}
