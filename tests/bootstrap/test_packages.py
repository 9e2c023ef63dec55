"""Which installed packages an interruption left half done."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ampcourse.bootstrap.packages import clear_broken, installed

from .conftest import add_wheel

NAME = "some_package-1.0"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site-packages folder with one package, as pip leaves it."""
    add_wheel(tmp_path / "wheels", "some-package")
    folder = tmp_path / "site"
    with zipfile.ZipFile(next((tmp_path / "wheels").iterdir())) as wheel:
        wheel.extractall(folder)
    (folder / f"{NAME}.dist-info" / "INSTALLER").write_text("pip\n")
    return folder


def test_a_whole_package_is_left_alone(site: Path) -> None:
    assert clear_broken(site) == []
    assert (site / f"{NAME}.dist-info").is_dir()


@pytest.mark.parametrize(
    "damage",
    [
        lambda site: (site / f"{NAME}.dist-info" / "INSTALLER").unlink(),
        lambda site: (site / f"{NAME}.dist-info" / "RECORD").unlink(),
        lambda site: (site / f"{NAME}.dist-info" / "RECORD").write_bytes(b"\xff\xfe,x,\n"),
        lambda site: (site / "some_package.py").unlink(),
        lambda site: (site / "some_package_data.txt").write_text(""),
        lambda site: (site / "some_package_data.txt").write_text("\0" * 1000),
    ],
    ids=["no installer", "no record", "odd record", "no module", "cut short", "zeros"],
)
def test_a_damaged_package_is_forgotten_so_that_pip_installs_it_again(
    site: Path, damage: Callable[[Path], object]
) -> None:
    damage(site)
    assert clear_broken(site) == [NAME]
    assert not (site / f"{NAME}.dist-info").exists()


def test_what_pip_moved_aside_is_cleared_away(site: Path) -> None:
    (site / "~orch").mkdir()
    clear_broken(site)
    assert not (site / "~orch").exists()


def test_a_change_of_what_is_installed_shows(site: Path) -> None:
    before = installed(site)
    assert {name for name, _ in before} == {f"{NAME}.dist-info"}
    (site / f"{NAME}.dist-info" / "RECORD").unlink()
    assert installed(site) != before
